#include "oracle/join_oracle.h"

#include <stdlib.h>

static bool has_null_key(const struct join_oracle *oracle, const struct cells *cells,
                         const uint32_t *keys, uint32_t row)
{
    for (uint32_t k = 0; k < oracle->key_count; k++) {
        if (cells_at(cells, row, keys[k])->null && !oracle->nulls_equal[k]) {
            return true;
        }
    }
    return false;
}

static bool pair_matches(const struct join_oracle *oracle, uint32_t probe_row, uint32_t build_row)
{
    for (uint32_t k = 0; k < oracle->key_count; k++) {
        const struct cell *probe = cells_at(oracle->probe, probe_row, oracle->probe_keys[k]);
        const struct cell *build = cells_at(oracle->build, build_row, oracle->build_keys[k]);
        if ((probe->null || build->null) && !oracle->nulls_equal[k]) {
            return false;
        }
        if (!cell_equal(probe, build, &oracle->probe->types[oracle->probe_keys[k]])) {
            return false;
        }
    }
    if (!oracle->residual) {
        return true;
    }
    const struct cell *left = cells_at(oracle->probe, probe_row, oracle->residual_probe);
    const struct cell *right = cells_at(oracle->build, build_row, oracle->residual_build);
    return !left->null && !right->null && left->integer < right->integer;
}

/* A row number of UINT32_MAX: that side is null. */
static void emit(const struct join_oracle *oracle, uint32_t probe_row, uint32_t build_row,
                 const struct cell *mark, struct lines *out)
{
    static const struct cell null_cell = {.null = true};
    static const struct exec_type boolean = {.kind = EXEC_TYPE_BOOL};
    const struct cell *cells[32];
    const struct exec_type *types[32];
    uint32_t count = 0;

    for (uint32_t o = 0; o < oracle->output_count; o++) {
        const bool from_build = oracle->outputs[o].from_build;
        const struct cells *side = from_build ? oracle->build : oracle->probe;
        const uint32_t row = from_build ? build_row : probe_row;
        types[count] = &side->types[oracle->outputs[o].column];
        cells[count++] =
            row == UINT32_MAX ? &null_cell : cells_at(side, row, oracle->outputs[o].column);
    }
    if (mark != NULL) {
        types[count] = &boolean;
        cells[count++] = mark;
    }
    lines_add(out, cells, types, count);
}

static void emit_probe_row(const struct join_oracle *oracle, uint32_t row, bool found, bool unknown,
                           struct lines *out)
{
    const struct cell mark = {.null = !found && unknown, .integer = found};

    switch (oracle->kind) {
        case EXEC_JOIN_LEFT:
        case EXEC_JOIN_FULL:
            if (!found) {
                emit(oracle, row, UINT32_MAX, NULL, out);
            }
            break;
        case EXEC_JOIN_LEFT_SEMI:
            if (found) {
                emit(oracle, row, UINT32_MAX, NULL, out);
            }
            break;
        case EXEC_JOIN_LEFT_ANTI:
            if (!found) {
                emit(oracle, row, UINT32_MAX, NULL, out);
            }
            break;
        case EXEC_JOIN_LEFT_ANTI_NULL_AWARE:
            if (!found && !unknown) {
                emit(oracle, row, UINT32_MAX, NULL, out);
            }
            break;
        case EXEC_JOIN_LEFT_MARK: emit(oracle, row, UINT32_MAX, &mark, out); break;
        default: break;
    }
}

void join_oracle_run(const struct join_oracle *oracle, struct lines *out)
{
    bool *build_found = calloc((size_t)oracle->build->row_count + 1, 1);
    bool build_null = false;

    for (uint32_t b = 0; b < oracle->build->row_count; b++) {
        build_null = build_null || has_null_key(oracle, oracle->build, oracle->build_keys, b);
    }
    for (uint32_t p = 0; p < oracle->probe->row_count; p++) {
        bool found = false;
        for (uint32_t b = 0; b < oracle->build->row_count; b++) {
            if (!pair_matches(oracle, p, b)) {
                continue;
            }
            found = true;
            build_found[b] = true;
            if (oracle->kind <= EXEC_JOIN_FULL) {
                emit(oracle, p, b, NULL, out);
            }
        }
        const bool probe_null = has_null_key(oracle, oracle->probe, oracle->probe_keys, p);
        const bool unknown = oracle->build->row_count > 0 && (probe_null || build_null);
        emit_probe_row(oracle, p, found, unknown, out);
    }
    for (uint32_t b = 0; b < oracle->build->row_count; b++) {
        if ((oracle->kind == EXEC_JOIN_RIGHT || oracle->kind == EXEC_JOIN_FULL) &&
            !build_found[b]) {
            emit(oracle, UINT32_MAX, b, NULL, out);
        }
    }
    free(build_found);
}
