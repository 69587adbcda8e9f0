/* Goal:   a spec and its message say the same, both ways, for everything a spec can say; what a
 *         message says and we cannot do is refused by name.
 * Method: one spec with every kind of relation, expression, literal and option; spec -> message ->
 *         bytes -> message -> spec -> message, equal bytes; single messages with one flaw each,
 * written as JSON. */
#include "proto/wire_plan.h"

#include "proto/job_json.h"
#include "proto/prescan.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (uint32_t)(sizeof(array) / sizeof((array)[0]))

static struct exec_error err;

/* ---- there and back ------------------------------------------------------------------------- */

static const uint32_t args[] = {1, 2};
static const struct exec_when whens[] = {{1, 2}, {3, 4}};
static const struct exec_literal values[] = {
    {.type = {.kind = EXEC_TYPE_INT32}, .value.i64 = INT32_MIN},
    {.type = {.kind = EXEC_TYPE_INT32}, .is_null = true},
};
static const struct exec_literal parameters[] = {
    {.type = {.kind = EXEC_TYPE_FLOAT64}, .value.f64 = 0.5}};
static const struct exec_expr exprs[] = {
    {.kind = EXEC_EXPR_COLUMN, .u.column = {.name = "a"}},
    {.kind = EXEC_EXPR_COLUMN, .u.column = {.index = 7, .side = 2}},
    {.kind = EXEC_EXPR_LITERAL,
     .u.literal = {.type = {.kind = EXEC_TYPE_BOOL}, .value.boolean = true}},
    {.kind = EXEC_EXPR_LITERAL,
     .u.literal = {.type = {.kind = EXEC_TYPE_INT64}, .value.i64 = INT64_MIN}},
    {.kind = EXEC_EXPR_LITERAL,
     .u.literal = {.type = {.kind = EXEC_TYPE_UINT64}, .value.u64 = UINT64_MAX}},
    {.kind = EXEC_EXPR_LITERAL,
     .u.literal = {.type = {.kind = EXEC_TYPE_FLOAT32}, .value.f64 = -0.0}},
    {.kind = EXEC_EXPR_LITERAL,
     .u.literal = {.type = {.kind = EXEC_TYPE_UTF8}, .value.text = {"gr\xC3\xBC\xC3\x9F", 6}}},
    {.kind = EXEC_EXPR_LITERAL,
     .u.literal = {.type = {.kind = EXEC_TYPE_BINARY}, .value.text = {"a\0b", 3}}},
    {.kind = EXEC_EXPR_LITERAL,
     .u.literal = {.type = {.kind = EXEC_TYPE_DECIMAL128, .precision = 38, .scale = 4},
                   .value.decimal = {.low = 5, .high = -6}}},
    {.kind = EXEC_EXPR_LITERAL,
     .u.literal = {.type = {.kind = EXEC_TYPE_TIMESTAMP, .unit = EXEC_UNIT_MILLI, .zone = "UTC"},
                   .value.i64 = -1}},
    {.kind = EXEC_EXPR_LITERAL,
     .u.literal = {.type = {.kind = EXEC_TYPE_DATE32}, .value.i64 = 15706}},
    {.kind = EXEC_EXPR_CALL, .u.call = {.function = "add", .args = args, .arg_count = 2}},
    {.kind = EXEC_EXPR_CAST,
     .u.cast = {.arg = 1, .to = {.kind = EXEC_TYPE_DATE32}, .null_on_failure = true}},
    {.kind = EXEC_EXPR_IN_LIST,
     .u.in_list = {.arg = 1, .values = values, .value_count = 2, .negated = true}},
    {.kind = EXEC_EXPR_CASE, .u.case_when = {.branches = whens, .branch_count = 2, .otherwise = 5}},
};

static const char *const paths[] = {"flights.csv.gz", "more.csv"};
static const char *const columns[] = {"a", "b"};
static const char *const null_texts[] = {"NA", ""};
static const struct exec_field fields[] = {
    {.name = "a", .type = {.kind = EXEC_TYPE_INT16}, .not_null = true},
    {.name = "t", .type = {.kind = EXEC_TYPE_TIMESTAMP, .unit = EXEC_UNIT_NANO}},
};
static const struct exec_named_expr named[] = {{"x", 1}, {"y", 2}};
static const struct exec_join_key join_keys[] = {{1, 2, false}, {3, 4, true}};
static const struct exec_sort_key sort_keys[] = {{1, EXEC_DESC_NULLS_LAST},
                                                 {2, EXEC_ASC_NULLS_FIRST}};
static const uint32_t set_keys[] = {2, 1};
static const struct exec_grouping_set grouping_sets[] = {{set_keys, 2}, {NULL, 0}};
static const struct exec_type argument_types[] = {
    {.kind = EXEC_TYPE_UTF8}, {.kind = EXEC_TYPE_DECIMAL128, .precision = 9, .scale = 2}};
static const struct exec_measure measures[] = {
    {.function = EXEC_AGG_COUNT_STAR,
     .name = "n",
     .argument_types = argument_types,
     .argument_type_count = 2},
    {.function = EXEC_AGG_AVG,
     .args = args,
     .arg_count = 1,
     .filter = 3,
     .name = "m",
     .distinct = true,
     .order = sort_keys,
     .order_count = 2,
     .parameters = parameters,
     .parameter_count = 1},
};
static const struct exec_named_window windows[] = {{EXEC_WINDOW_DENSE_RANK, "place"},
                                                   {EXEC_WINDOW_ROW_NUMBER, "n"}};
static const struct exec_rel rels[] = {
    {.kind = EXEC_REL_SCAN,
     .label = "flights",
     .u.scan = {.source = EXEC_SCAN_FILES,
                .paths = paths,
                .path_count = 2,
                .format = EXEC_FORMAT_CSV,
                .csv = {.delimiter = ';',
                        .thousands = ',',
                        .no_header = true,
                        .null_texts = null_texts,
                        .null_text_count = 2},
                .schema = {fields, 2},
                .columns = columns,
                .column_count = 2,
                .expected_schema = {fields, 1},
                .filter = 3}},
    {.kind = EXEC_REL_SCAN,
     .u.scan = {.source = EXEC_SCAN_TABLE, .table = "t", .table_min_version = 9}},
    {.kind = EXEC_REL_SCAN,
     .u.scan = {.source = EXEC_SCAN_INLINE, .inline_stream = "a\0b", .inline_stream_bytes = 3}},
    {.kind = EXEC_REL_SCAN,
     .u.scan = {.source = EXEC_SCAN_GENERATOR,
                .generator = "sequence",
                .generator_rows = 5,
                .generator_seed = UINT64_MAX}},
    {.kind = EXEC_REL_FILTER, .u.filter = {.input = 1, .predicate = 3}},
    {.kind = EXEC_REL_PROJECT, .u.project = {.input = 5, .exprs = named, .expr_count = 2}},
    {.kind = EXEC_REL_JOIN,
     .u.join = {.left = 6,
                .right = 2,
                .kind = EXEC_JOIN_LEFT_ANTI_NULL_AWARE,
                .keys = join_keys,
                .key_count = 2,
                .residual = 3,
                .strategy = EXEC_STRATEGY_RADIX_HASH,
                .build_side = EXEC_BUILD_RIGHT}},
    {.kind = EXEC_REL_AGGREGATE,
     .u.aggregate = {.input = 7,
                     .keys = named,
                     .key_count = 2,
                     .measures = measures,
                     .measure_count = 2,
                     .phase = EXEC_PHASE_PARTIAL,
                     .sets = grouping_sets,
                     .set_count = 2,
                     .set_name = "set"}},
    {.kind = EXEC_REL_SORT, .u.sort = {.input = 8, .keys = sort_keys, .key_count = 2, .limit = 0}},
    {.kind = EXEC_REL_SORT, .u.sort = {.input = 8, .keys = sort_keys, .key_count = 1, .limit = -1}},
    {.kind = EXEC_REL_LIMIT, .u.limit = {.input = 9, .offset = 3, .count = -1}},
    {.kind = EXEC_REL_UNION_ALL, .u.union_all = {.inputs = args, .input_count = 2}},
    {.kind = EXEC_REL_DISTINCT, .u.distinct = {.input = 12}},
    {.kind = EXEC_REL_WINDOW,
     .u.window = {.input = 13,
                  .partition = args,
                  .partition_count = 2,
                  .order = sort_keys,
                  .order_count = 2,
                  .functions = windows,
                  .function_count = 2,
                  .limit = 2}},
    {.kind = EXEC_REL_WINDOW,
     .u.window = {.input = 14, .functions = windows, .function_count = 1, .limit = -1}},
};
static const struct exec_job_spec full_spec = {
    .rels = rels,
    .rel_count = COUNT(rels),
    .exprs = exprs,
    .expr_count = COUNT(exprs),
    .options = {.memory_limit_bytes = 1 << 30,
                .workers_max = 3,
                .priority = -10,
                .timeout_ns = 1500000001,
                .result_rows_max = 77,
                .batch_rows = 1000,
                .batch_bytes = 65536,
                .morsel_rows = 4096,
                .policy = EXEC_POLICY_STATIC,
                .probe_mode = EXEC_PROBE_ROUTED},
    .into_table = "result",
    .into_replace = true,
};

static uint8_t *request_pack(const struct exec_job_spec *spec, size_t *size_out)
{
    Morsel__V1__ExecuteJobRequest *request = wire_request_from_spec(spec, "job-1");
    uint8_t *bytes;

    cr_assert_not_null(request);
    *size_out = morsel__v1__execute_job_request__get_packed_size(request);
    bytes = malloc(*size_out);
    cr_assert_eq(morsel__v1__execute_job_request__pack(request, bytes), *size_out);
    wire_request_free(request);
    return bytes;
}

static void spot_checks(const struct exec_job_spec *spec)
{
    cr_assert_eq(spec->rel_count, COUNT(rels));
    cr_assert_eq(spec->expr_count, COUNT(exprs));
    cr_assert_str_eq(spec->into_table, "result");
    cr_assert_str_eq(spec->rels[0].label, "flights");
    cr_assert_null(spec->rels[1].label);
    cr_assert_str_eq(spec->rels[0].u.scan.paths[1], "more.csv");
    cr_assert_eq(spec->rels[0].u.scan.csv.delimiter, ';');
    cr_assert_eq(spec->rels[0].u.scan.csv.quote, 0);
    cr_assert_str_eq(spec->rels[0].u.scan.csv.null_texts[0], "NA");
    cr_assert_eq(spec->rels[0].u.scan.csv.thousands, ',');
    cr_assert(exec_type_equal(&spec->rels[0].u.scan.schema.fields[1].type, &fields[1].type));
    cr_assert_eq(spec->rels[2].u.scan.inline_stream_bytes, 3);
    cr_assert_eq(spec->rels[6].u.join.kind, EXEC_JOIN_LEFT_ANTI_NULL_AWARE);
    cr_assert(spec->rels[6].u.join.keys[1].nulls_equal);
    cr_assert_eq(spec->rels[7].u.aggregate.measures[1].function, EXEC_AGG_AVG);
    cr_assert_eq(spec->rels[7].u.aggregate.measures[0].argument_types[1].scale, 2);
    cr_assert_eq(spec->rels[7].u.aggregate.set_count, 2);
    cr_assert_eq(spec->rels[7].u.aggregate.sets[0].keys[0], 2);
    cr_assert_eq(spec->rels[7].u.aggregate.sets[1].key_count, 0);
    cr_assert_str_eq(spec->rels[7].u.aggregate.set_name, "set");
    cr_assert_eq(spec->rels[8].u.sort.limit, 0);
    cr_assert_eq(spec->rels[9].u.sort.limit, -1);
    cr_assert_eq(spec->rels[10].u.limit.count, -1);
    cr_assert_eq(spec->exprs[1].u.column.index, 7);
    cr_assert_null(spec->exprs[1].u.column.name);
    cr_assert_eq(spec->exprs[3].u.literal.value.i64, INT64_MIN);
    cr_assert_eq(spec->exprs[8].u.literal.value.decimal.high, -6);
    cr_assert_eq(spec->options.timeout_ns, 1500000001);
    cr_assert_eq(spec->options.policy, EXEC_POLICY_STATIC);
    cr_assert_eq(spec->options.probe_mode, EXEC_PROBE_ROUTED);
    cr_assert_eq(spec->options.morsel_rows, 4096);
}

Test(wire_plan, a_spec_comes_back_the_same)
{
    size_t size, again_size;
    uint8_t *bytes = request_pack(&full_spec, &size);
    Morsel__V1__ExecuteJobRequest *request = (void *)wire_unpack(
        &morsel__v1__execute_job_request__descriptor, bytes, size, &prescan_control_limits, &err);
    struct wire_job job;

    cr_assert_not_null(request, "%s", err.detail);
    cr_assert_eq(
        wire_job_from_plan(request->plan, request->options, request->into_table, &job, &err),
        EXEC_OK, "%s", err.detail);
    job.spec.into_replace = request->into_replace;
    spot_checks(&job.spec);
    uint8_t *again = request_pack(&job.spec, &again_size);
    cr_assert_eq(size, again_size);
    cr_assert_eq(memcmp(bytes, again, size), 0);
    wire_job_fini(&job);
    protobuf_c_message_free_unpacked(&request->base, NULL);
    free(bytes);
    free(again);
}

Test(wire_plan, the_job_file_form_comes_back_the_same)
{
    Morsel__V1__ExecuteJobRequest *request = wire_request_from_spec(&full_spec, "job-1");
    char *text = json_from_message(&request->base);
    ProtobufCMessage *back;
    size_t size, again_size;

    cr_assert_not_null(text);
    back = json_to_message(&morsel__v1__execute_job_request__descriptor, text, strlen(text), "job",
                           &err);
    cr_assert_not_null(back, "%s", err.detail);
    size = protobuf_c_message_get_packed_size(&request->base);
    again_size = protobuf_c_message_get_packed_size(back);
    uint8_t *bytes = malloc(size), *again = malloc(again_size);
    protobuf_c_message_pack(&request->base, bytes);
    protobuf_c_message_pack(back, again);
    cr_assert_eq(size, again_size, "%s", text);
    cr_assert_eq(memcmp(bytes, again, size), 0);
    protobuf_c_message_free_unpacked(back, NULL);
    wire_request_free(request);
    free(bytes);
    free(again);
    free(text);
}

/* ---- refusals ------------------------------------------------------------------------------- */

struct refusal {
    const char *json; /* of an ExecuteJobRequest, '' for "" */
    enum exec_code code;
    const char *text;
    uint32_t rel, expr;
};

static enum exec_code json_refused(const char *quoted)
{
    char *json = strdup(quoted);
    Morsel__V1__ExecuteJobRequest *request;
    struct wire_job job;
    enum exec_code code;

    for (char *at = json; *at != '\0'; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
    request = (void *)json_to_message(&morsel__v1__execute_job_request__descriptor, json,
                                      strlen(json), "test", &err);
    cr_assert_not_null(request, "%s", err.detail);
    code = wire_job_from_plan(request->plan, request->options, request->into_table, &job, &err);
    if (code == EXEC_OK) {
        wire_job_fini(&job);
    }
    protobuf_c_message_free_unpacked(&request->base, NULL);
    free(json);
    return code;
}

#define PLAN "'plan':{'rels':[{'scan':{'table':{'name':'t'}}}]}"
#define REL(rel) "{'plan':{'rels':[{'scan':{'table':{'name':'t'}}}," rel "]}}"
#define EXPR(expr) "{'plan':{'rels':[{'scan':{'table':{'name':'t'}}}],'exprs':[" expr "]}}"
#define OPTION(option) "{" PLAN ",'options':{" option "}}"

Test(wire_plan, what_cannot_be_done_is_named)
{
    static const struct refusal rows[] = {
        {"{" PLAN "}", EXEC_OK, "", 0, 0},
        {"{}", EXEC_BAD_SPEC, "plan.rels is empty", 0, 0},
        {"{'plan':{'version':2,'rels':[{}]}}", EXEC_NOT_IMPLEMENTED, "plan.version", 0, 0},
        {REL("{}"), EXEC_BAD_SPEC, "rels[2].kind is not set", 2, 0},
        {REL("{'scan':{}}"), EXEC_BAD_SPEC, "rels[2].scan.source is not set", 2, 0},
        {REL("{'scan':{'table':{}}}"), EXEC_BAD_SPEC, "rels[2].scan.table.name is empty", 2, 0},
        {REL("{'scan':{'files':{}}}"), EXEC_BAD_SPEC, "scan.files.paths is empty", 2, 0},
        {REL("{'scan':{'files':{'paths':['a'],'csv':{'delimiter':'ab'}}}}"), EXEC_BAD_SPEC,
         "scan.files.csv.delimiter", 2, 0},
        {REL("{'scan':{'files':{'paths':['a'],'format':2,'csv':{}}}}"), EXEC_BAD_SPEC,
         "scan.files.csv is for CSV", 2, 0},
        {REL("{'join':{'left':1,'right':1}}"), EXEC_BAD_SPEC, "rels[2].join.type is not set", 2, 0},
        {REL("{'join':{'type':99}}"), EXEC_BAD_SPEC,
         "join.type: morsel.v1.JoinType has no value 99", 2, 0},
        {REL("{'aggregate':{'measures':[{'name':'n'}]}}"), EXEC_BAD_SPEC,
         "aggregate.measures[1].function is not set", 2, 0},
        {REL("{'aggregate':{'measures':[{'function':1}]}}"), EXEC_BAD_SPEC,
         "aggregate.measures[1].name is empty", 2, 0},
        {REL("{'sort':{'keys':[{'expr':1}]}}"), EXEC_BAD_SPEC, "sort.keys[1].direction", 2, 0},
        {REL("{'sort':{'limit':{'value':-2}}}"), EXEC_BAD_SPEC, "sort.limit: -2 is negative", 2, 0},
        {REL("{'limit':{'offset':-1}}"), EXEC_BAD_SPEC, "limit.offset: -1", 2, 0},
        {EXPR("{}"), EXEC_BAD_SPEC, "exprs[1].kind is not set", 0, 1},
        {EXPR("{'column':{}}"), EXEC_BAD_SPEC, "exprs[1].column has neither", 0, 1},
        {EXPR("{'column':{'name':'a','side':3}}"), EXEC_BAD_SPEC, "column.side: 3", 0, 1},
        {EXPR("{'call':{}}"), EXEC_BAD_SPEC, "call.function is empty", 0, 1},
        {EXPR("{'cast':{'arg':1}}"), EXEC_BAD_SPEC, "cast.to is not set", 0, 1},
        {EXPR("{'literal':{}}"), EXEC_BAD_SPEC, "literal has no value", 0, 1},
        {EXPR("{'literal':{'intValue':'7'}}"), EXEC_OK, "", 0, 0},
        {EXPR("{'literal':{'type':{'kind':'TYPE_KIND_INT8'},'intValue':128}}"), EXEC_BAD_SPEC,
         "literal.int_value does not fit the type int8", 0, 1},
        {EXPR("{'literal':{'type':{'kind':'TYPE_KIND_UINT8'},'intValue':-1}}"), EXEC_BAD_SPEC,
         "literal.int_value", 0, 1},
        {EXPR("{'literal':{'type':{'kind':'TYPE_KIND_UTF8'},'boolValue':true}}"), EXEC_BAD_SPEC,
         "literal.bool_value does not fit the type utf8", 0, 1},
        {EXPR("{'literal':{'type':{'kind':'TYPE_KIND_DECIMAL128','precision':39},'nullValue':true}"
              "}"),
         EXEC_BAD_SPEC, "literal.type.precision: 39", 0, 1},
        {EXPR("{'literal':{'type':{'kind':'TYPE_KIND_TIMESTAMP'},'nullValue':true}}"),
         EXEC_BAD_SPEC, "literal.type.unit is not set", 0, 1},
        {OPTION("'compression':'COMPRESSION_NONE'"), EXEC_OK, "", 0, 0},
        {OPTION("'compression':'COMPRESSION_ZSTD'"), EXEC_NOT_IMPLEMENTED, "options.compression", 0,
         0},
        {OPTION("'spillLimitBytes':'1'"), EXEC_NOT_IMPLEMENTED, "options.spill_limit_bytes", 0, 0},
        {OPTION("'partitioning':{}"), EXEC_NOT_IMPLEMENTED, "options.partitioning", 0, 0},
        {OPTION("'dictionaries':true"), EXEC_NOT_IMPLEMENTED, "options.dictionaries", 0, 0},
        {REL("{'join':{'type':10,'asof':{}}}"), EXEC_BAD_SPEC, "join.asof.direction is not set", 2,
         0},
        {REL("{'aggregate':{'groupingSets':[{}]}}"), EXEC_OK, "", 0, 0},
        {REL("{'window':{'functions':[{'function':'WINDOW_FUNCTION_RANK'}]}}"), EXEC_BAD_SPEC,
         "window.functions[1].name", 2, 0},
        {REL("{'window':{'functions':[{'name':'r'}]}}"), EXEC_BAD_SPEC,
         "window.functions[1].function", 2, 0},
        {REL("{'window':{'orderBy':[{'expr':1}]}}"), EXEC_BAD_SPEC, "window.order_by[1].direction",
         2, 0},
        {REL("{'window':{'limit':{'value':-3}}}"), EXEC_BAD_SPEC, "window.limit", 2, 0},
        {REL("{'sort':{'partitionBy':[1]}}"), EXEC_NOT_IMPLEMENTED, "sort.partition_by", 2, 0},
        {EXPR("{'literal':{'intervalValue':{'days':1}}}"), EXEC_NOT_IMPLEMENTED,
         "literal.interval_value", 0, 1},
        {EXPR("{'literal':{'type':{'kind':'TYPE_KIND_INTERVAL'},'nullValue':true}}"),
         EXEC_NOT_IMPLEMENTED, "TYPE_KIND_INTERVAL is not implemented", 0, 1},
        {OPTION("'detachable':true"), EXEC_NOT_IMPLEMENTED, "options.detachable", 0, 0},
        {OPTION("'priority':11"), EXEC_BAD_SPEC, "options.priority: 11", 0, 0},
        {OPTION("'batchBytes':16777217"), EXEC_BAD_SPEC, "options.batch_bytes", 0, 0},
        {OPTION("'timeout':'0s'"), EXEC_BAD_SPEC, "options.timeout", 0, 0},
        {OPTION("'timeout':'-1s'"), EXEC_BAD_SPEC, "options.timeout", 0, 0},
        {OPTION("'settings':{'probe_mode':'best'}"), EXEC_BAD_SPEC,
         "'best' is not auto, shared, replicated or routed", 0, 0},
        {OPTION("'settings':{'policy':'fast'}"), EXEC_BAD_SPEC, "'fast' is not numa", 0, 0},
        {OPTION("'settings':{'morsel_rows':'many'}"), EXEC_BAD_SPEC, "'many'", 0, 0},
        {OPTION("'settings':{'colour':'red'}"), EXEC_OK, "", 0, 0},
        {OPTION("'settings':{'colour':'red'},'strictSettings':true"), EXEC_BAD_SPEC, "colour", 0,
         0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const enum exec_code code = json_refused(rows[i].json);
        cr_assert_eq(code, rows[i].code, "%s: %s", rows[i].json, code == EXEC_OK ? "" : err.detail);
        if (code != EXEC_OK) {
            cr_assert_not_null(strstr(err.detail, rows[i].text), "%s: %s", rows[i].json,
                               err.detail);
            cr_assert_eq(err.rel, rows[i].rel, "%s", rows[i].json);
            cr_assert_eq(err.expr, rows[i].expr, "%s", rows[i].json);
        }
    }
}

Test(wire_plan, counts_and_names_are_limited)
{
    Morsel__V1__Plan plan;
    Morsel__V1__Rel rel, *many[EXEC_RELS_MAX + 1];
    struct wire_job job;
    char name[EXEC_NAME_BYTES_MAX + 2];

    morsel__v1__plan__init(&plan);
    morsel__v1__rel__init(&rel);
    for (size_t i = 0; i < COUNT(many); i++) {
        many[i] = &rel;
    }
    plan.rels = many;
    plan.n_rels = COUNT(many);
    cr_assert_eq(wire_job_from_plan(&plan, NULL, NULL, &job, &err), EXEC_BAD_SPEC);
    cr_assert_not_null(strstr(err.detail, "plan.rels: 257 entries, at most 256"), "%s", err.detail);

    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    plan.n_rels = 1;
    cr_assert_eq(wire_job_from_plan(&plan, NULL, name, &job, &err), EXEC_BAD_SPEC);
    cr_assert_not_null(strstr(err.detail, "into_table: 256 bytes"), "%s", err.detail);
}

/* ---- schemas -------------------------------------------------------------------------------- */

Test(wire_plan, schemas_come_back_the_same)
{
    const struct exec_schema schema = {fields, 2};
    Morsel__V1__Schema *message = wire_schema_message(&schema);
    struct exec_field back_fields[2];
    struct exec_schema back;

    cr_assert_not_null(message);
    cr_assert_eq(wire_schema_from_message(message, back_fields, &back, &err), EXEC_OK);
    cr_assert_eq(back.field_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert_str_eq(back.fields[i].name, fields[i].name);
        cr_assert(exec_type_equal(&back.fields[i].type, &fields[i].type));
        cr_assert_eq(back.fields[i].not_null, fields[i].not_null);
    }
    free(message);
}
