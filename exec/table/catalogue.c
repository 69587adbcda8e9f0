#include "table/table.h"
#include "table/table_make.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Current versions, sorted by name. The lock is held for a search and a pointer swap, never while
 * chunks are made or freed, and never on the path of a morsel: jobs bind once. */
struct catalogue {
    struct nu_budget *budget;
    pthread_mutex_t lock;
    struct table **tables;
    uint32_t table_count, table_capacity;
    uint64_t last_version; /* over all names, so that a name never sees one twice */
};

struct catalogue *catalogue_create(struct nu_page_pool *pages, struct nu_budget *tables_budget)
{
    struct catalogue *catalogue = calloc(1, sizeof *catalogue);

    (void)pages; /* chunks bring their own */
    if (catalogue == NULL) {
        return NULL;
    }
    catalogue->budget = tables_budget;
    pthread_mutex_init(&catalogue->lock, NULL);
    return catalogue;
}

void catalogue_destroy(struct catalogue *catalogue)
{
    for (uint32_t i = 0; i < catalogue->table_count; i++) {
        table_unref(catalogue->tables[i]);
    }
    free(catalogue->tables);
    pthread_mutex_destroy(&catalogue->lock);
    free(catalogue);
}

struct nu_budget *catalogue_budget(struct catalogue *catalogue)
{
    return catalogue->budget;
}

/* ---- under the lock ------------------------------------------------------------------------- */

/* Where `name` is, or belongs. */
static uint32_t lower_bound(const struct catalogue *catalogue, const char *name)
{
    uint32_t low = 0;
    uint32_t high = catalogue->table_count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (strcmp(catalogue->tables[middle]->name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const struct catalogue *catalogue, uint32_t index, const char *name)
{
    return index < catalogue->table_count && strcmp(catalogue->tables[index]->name, name) == 0;
}

static bool insert_at(struct catalogue *catalogue, uint32_t index, struct table *table)
{
    if (catalogue->table_count == catalogue->table_capacity) {
        const uint32_t capacity =
            catalogue->table_capacity == 0 ? 16 : 2 * catalogue->table_capacity;
        struct table **tables = realloc(catalogue->tables, capacity * sizeof(struct table *));
        if (tables == NULL) {
            return false;
        }
        catalogue->tables = tables;
        catalogue->table_capacity = capacity;
    }
    memmove(catalogue->tables + index + 1, catalogue->tables + index,
            (catalogue->table_count - index) * sizeof(struct table *));
    catalogue->tables[index] = table;
    catalogue->table_count++;
    return true;
}

/* ---- door ----------------------------------------------------------------------------------- */

struct table *catalogue_get(struct catalogue *catalogue, const char *name)
{
    struct table *table = NULL;

    pthread_mutex_lock(&catalogue->lock);
    const uint32_t index = lower_bound(catalogue, name);
    if (is_at(catalogue, index, name)) {
        table = catalogue->tables[index];
        table_ref(table);
    }
    pthread_mutex_unlock(&catalogue->lock);
    return table;
}

bool catalogue_has(struct catalogue *catalogue, const char *name)
{
    pthread_mutex_lock(&catalogue->lock);
    const bool has = is_at(catalogue, lower_bound(catalogue, name), name);
    pthread_mutex_unlock(&catalogue->lock);
    return has;
}

uint32_t catalogue_count(struct catalogue *catalogue)
{
    pthread_mutex_lock(&catalogue->lock);
    const uint32_t count = catalogue->table_count;
    pthread_mutex_unlock(&catalogue->lock);
    return count;
}

/* Puts `table` in; *old_out is what it replaced. The catalogue takes over one reference. */
static enum exec_code swap_in(struct catalogue *catalogue, struct table *table, bool replace,
                              struct table **old_out, struct exec_error *err)
{
    enum exec_code code = EXEC_OK;

    pthread_mutex_lock(&catalogue->lock);
    const uint32_t index = lower_bound(catalogue, table->name);
    table->version = catalogue->last_version + 1;
    if (!is_at(catalogue, index, table->name)) {
        if (!insert_at(catalogue, index, table)) {
            code = EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for a table's entry");
        }
    } else if (replace) {
        *old_out = catalogue->tables[index];
        catalogue->tables[index] = table;
    } else {
        code = EXEC_FAIL(err, EXEC_EXISTS, "table '%s' exists already (replace is not set)",
                         table->name);
    }
    catalogue->last_version += code == EXEC_OK;
    pthread_mutex_unlock(&catalogue->lock);
    return code;
}

static void destroy_chunks(struct table_chunk **chunks, uint32_t chunk_count)
{
    for (uint32_t i = 0; i < chunk_count; i++) {
        table_chunk_destroy(chunks[i]);
    }
}

enum exec_code catalogue_put(struct catalogue *catalogue, const char *name,
                             const struct exec_schema *schema, struct table_chunk **chunks,
                             uint32_t chunk_count, bool replace, struct table **table_out,
                             struct exec_error *err)
{
    struct table *old = NULL;
    enum exec_code code = table_name_check(name, err);

    if (code != EXEC_OK) {
        destroy_chunks(chunks, chunk_count);
        return code;
    }
    struct table *table = table_make(name, schema, chunks, chunk_count);
    if (table == NULL) {
        destroy_chunks(chunks, chunk_count);
        return EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for table '%s'", name);
    }
    table_ref(table); /* the caller's: once swapped in, the other may be dropped at any time */
    code = swap_in(catalogue, table, replace, &old, err);
    if (code != EXEC_OK) {
        table_unref(table);
    }
    if (old != NULL) {
        table_unref(old);
    }
    if (code == EXEC_OK && table_out != NULL) {
        *table_out = table;
    } else {
        table_unref(table);
    }
    return code;
}

enum exec_code catalogue_drop(struct catalogue *catalogue, const char *name, struct exec_error *err)
{
    struct table *table = NULL;

    pthread_mutex_lock(&catalogue->lock);
    const uint32_t index = lower_bound(catalogue, name);
    if (is_at(catalogue, index, name)) {
        table = catalogue->tables[index];
        catalogue->table_count--;
        memmove(catalogue->tables + index, catalogue->tables + index + 1,
                (catalogue->table_count - index) * sizeof(struct table *));
    }
    pthread_mutex_unlock(&catalogue->lock);
    if (table == NULL) {
        return EXEC_FAIL(err, EXEC_TABLE_NOT_FOUND, "there is no table '%s'", name);
    }
    table_unref(table);
    return EXEC_OK;
}

/* References to the tables asked for, sorted by name; NULL: no memory. */
static struct table **snapshot(struct catalogue *catalogue, const char *name, uint32_t *count_out)
{
    pthread_mutex_lock(&catalogue->lock);
    struct table **tables = calloc(catalogue->table_count + (size_t)1, sizeof(struct table *));
    uint32_t count = 0;
    for (uint32_t i = 0; tables != NULL && i < catalogue->table_count; i++) {
        if (name == NULL || strcmp(catalogue->tables[i]->name, name) == 0) {
            tables[count++] = catalogue->tables[i];
            table_ref(catalogue->tables[i]);
        }
    }
    pthread_mutex_unlock(&catalogue->lock);
    *count_out = count;
    return tables;
}

enum exec_code catalogue_list(struct catalogue *catalogue, const char *name,
                              struct exec_table_list *list_out, struct exec_error *err)
{
    uint32_t count;
    struct table **tables = snapshot(catalogue, name, &count);
    const bool made = tables != NULL && table_list_make(tables, count, list_out);

    for (uint32_t i = 0; i < count; i++) {
        table_unref(tables[i]);
    }
    free(tables);
    return made ? EXEC_OK : EXEC_FAIL(err, EXEC_MEMORY_BUDGET, "no memory for a list of tables");
}
