#include "io/io.h"
#include "plan/plan.h"
#include "vec/zone.h"

#include <string.h>

/* Zones of a plan, read before it is bound: those of its tables' columns and of every type that it
 * names. One after another on io's threads, into one buffer of the job. A zone that cannot be read
 * is refused by the expression that needs its rules; one that is only passed on needs none. */

struct zone_loader {
    struct io_request request;
    struct io *io;
    scan_files_opened_fn *opened;
    void *owner;
    const char **names;
    uint32_t name_count, name_room, at;
    int fd;
    unsigned char bytes[ZONE_FILE_BYTES_MAX];
};

/* ---- which -------------------------------------------------------------------------------------
 */

/* Twice: counted with `names` NULL, then kept. */
static void add_type(struct zone_loader *loader, const struct exec_type *type)
{
    int32_t ignored;

    if (type->kind != EXEC_TYPE_TIMESTAMP || zone_is_utc(type->zone) ||
        zone_fixed_offset(type->zone, &ignored) || !zone_name_is_plain(type->zone) ||
        zone_find(type->zone) != NULL) {
        return;
    }
    if (loader->names == NULL) {
        loader->name_room++;
        return;
    }
    for (uint32_t n = 0; n < loader->name_count; n++) {
        if (strcmp(loader->names[n], type->zone) == 0) {
            return;
        }
    }
    if (loader->name_count < loader->name_room) {
        loader->names[loader->name_count++] = type->zone;
    }
}

static void add_schema(struct zone_loader *loader, const struct exec_schema *schema)
{
    for (uint32_t f = 0; f < schema->field_count; f++) {
        add_type(loader, &schema->fields[f].type);
    }
}

static void add_all(struct zone_loader *loader, const struct plan *plan)
{
    for (uint32_t r = 0; r < plan->rel_count; r++) {
        const struct plan_rel *rel = &plan->rels[r];
        if (rel->table != NULL) {
            add_schema(loader, &rel->table->schema);
        }
        if (rel->spec->kind == EXEC_REL_SCAN) {
            add_schema(loader, &rel->spec->u.scan.schema);
        }
    }
    for (uint32_t e = 0; e < plan->spec->expr_count; e++) {
        const struct exec_expr *expr = &plan->spec->exprs[e];
        if (expr->kind == EXEC_EXPR_CAST) {
            add_type(loader, &expr->u.cast.to);
        } else if (expr->kind == EXEC_EXPR_LITERAL) {
            add_type(loader, &expr->u.literal.type);
        }
    }
}

/* ---- reading, on io's threads -----------------------------------------------------------------
 */

static void open_next(struct zone_loader *loader);

static void was_read(struct io_request *request)
{
    struct zone_loader *loader = request->owner;

    if (request->result > 0) {
        /* Whoever needs a zone that was not taken says so. */
        (void)zone_add(loader->names[loader->at], loader->bytes, (size_t)request->result);
    }
    io_close(loader->io, loader->fd);
    loader->at++;
    open_next(loader);
}

static void was_opened(struct io_request *request)
{
    struct zone_loader *loader = request->owner;

    if (request->result < 0) {
        loader->at++;
        open_next(loader);
        return;
    }
    loader->fd = request->fd;
    request->complete = was_read;
    io_read(loader->io, request, loader->fd, 0, loader->bytes, sizeof loader->bytes, 0);
}

static void open_next(struct zone_loader *loader)
{
    if (loader->at == loader->name_count) {
        loader->opened(NULL, loader->owner); /* the loader may be gone behind this */
        return;
    }
    loader->request = (struct io_request){.complete = was_opened, .owner = loader};
    io_open(loader->io, &loader->request, ZONE_DIRECTORY, loader->names[loader->at]);
}

enum exec_code plan_load_zones(struct plan *plan, scan_files_opened_fn *opened, void *owner,
                               bool *started_out, struct exec_error *err)
{
    struct zone_loader count = {.name_room = 0};

    *started_out = false;
    add_all(&count, plan);
    if (count.name_room == 0) {
        return EXEC_OK;
    }
    struct zone_loader *loader = plan_calloc(plan, 1, sizeof *loader, err);
    const char **names = plan_calloc(plan, count.name_room, sizeof *names, err);
    if (loader == NULL || names == NULL) {
        return err->code;
    }
    *loader = (struct zone_loader){.io = plan->job->io,
                                   .opened = opened,
                                   .owner = owner,
                                   .names = names,
                                   .name_room = count.name_room};
    add_all(loader, plan);
    *started_out = loader->name_count != 0;
    if (*started_out) {
        open_next(loader);
    }
    return EXEC_OK;
}
