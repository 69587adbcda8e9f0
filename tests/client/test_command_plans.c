/* Goal:   the plans of `morsel join` and `morsel group`: keys, default columns, names, order,
 * hidden aggregates. Method: each command's texts against the whole plan written out by hand, one
 * relation a line. */
#include "client/plan_print.h"
#include "sql/group_plan.h"
#include "sql/join_plan.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

static const struct exec_field left_fields[] = {{.name = "id"}, {.name = "name"}, {.name = "a"}};
static const struct exec_field right_fields[] = {{.name = "id"}, {.name = "name"}, {.name = "b"}};
static const struct exec_schema left = {left_fields, 3}, right = {right_fields, 3};
static const struct exec_rel scan = {.kind = EXEC_REL_SCAN};

static void expect_plan(struct plan_builder *plan, enum exec_code code, struct exec_error *err,
                        const char *expected)
{
    char text[2048];

    cr_assert_eq(code, EXEC_OK, "%s", err->detail);
    plan_print(plan, text, sizeof text);
    cr_expect_str_eq(text, expected, "got:\n%s", text);
    plan_builder_fini(plan);
}

static struct join_request join_of(struct plan_builder *plan)
{
    plan_builder_init(plan);
    return (struct join_request){
        .left = {builder_rel(plan, &scan), &left, "orders"},
        .right = {builder_rel(plan, &scan), &right, "people"},
        .kind = EXEC_JOIN_INNER,
        .on = "id",
        .limit = -1,
    };
}

Test(join_plan, default_columns)
{
    struct plan_builder plan;
    struct exec_error err = {0};
    const struct join_request request = join_of(&plan);

    expect_plan(&plan, join_plan_make(&plan, &request, &err), &err,
                "scan\nscan\njoin1 1 2 #1=#1\n"
                "project 3 id=#1 name=#2 a=#3 name_right=#5 b=#6\n");
}

Test(join_plan, a_shared_key_needs_no_qualifier)
{
    struct plan_builder plan;
    struct exec_error err = {0};
    struct join_request request = join_of(&plan);

    request.where = "id > 1 and r.id > 2";
    request.order = "id, name";
    request.select = "id, name = l.name, r.name as other";
    expect_plan(&plan, join_plan_make(&plan, &request, &err), &err,
                "scan\nscan\njoin1 1 2 #1=#1\n"
                "filter 3 (and (gt #1 1) (gt #4 2))\n"
                "sort 4 #1:asc #2:asc\n"
                "project 5 id=#1 name=#2 other=#5\n");

    struct join_request right_join = join_of(&plan);
    right_join.kind = EXEC_JOIN_RIGHT;
    right_join.where = "id = 3";
    right_join.select = "l.id";
    expect_plan(&plan, join_plan_make(&plan, &right_join, &err), &err,
                "scan\nscan\njoin3 1 2 #1=#1\n"
                "filter 3 (eq (coalesce #1 #4) 3)\n"
                "project 4 id=#1\n");
}

Test(join_plan, full_join_shows_either_key)
{
    struct plan_builder plan;
    struct exec_error err = {0};
    struct join_request request = join_of(&plan);

    request.kind = EXEC_JOIN_FULL;
    expect_plan(&plan, join_plan_make(&plan, &request, &err), &err,
                "scan\nscan\njoin4 1 2 #1=#1\n"
                "project 3 id=(coalesce #1 #4) name=#2 a=#3 name_right=#5 b=#6\n");
}

Test(join_plan, keys_of_other_names_and_swapped_sides)
{
    struct plan_builder plan;
    struct exec_error err = {0};
    struct join_request request = join_of(&plan);

    request.on = "a = b, people.name = orders.name, lower(name) = upper(name)";
    request.select = "l.a, x = r.b + 1, people.name as who";
    request.where = "orders.a > 3";
    request.order = "-x, l.id";
    request.limit = 5;
    expect_plan(&plan, join_plan_make(&plan, &request, &err), &err,
                "scan\nscan\njoin1 1 2 #3=#3 #2=#2 (lower #2)=(upper #2)\n"
                "filter 3 (gt #3 3)\n"
                "sort 4 (add #6 1):desc #1:asc limit 5\n"
                "project 5 a=#3 x=(add #6 1) who=#5\n");
}

Test(join_plan, semi_join_shows_the_left_side)
{
    struct plan_builder plan;
    struct exec_error err = {0};
    struct join_request request = join_of(&plan);

    request.kind = EXEC_JOIN_LEFT_SEMI;
    request.limit = 2;
    expect_plan(&plan, join_plan_make(&plan, &request, &err), &err,
                "scan\nscan\njoin5 1 2 #1=#1\nlimit 3 2\nproject 4 id=#1 name=#2 a=#3\n");

    struct join_request wrong = join_of(&plan);
    wrong.kind = EXEC_JOIN_LEFT_SEMI;
    wrong.select = "r.b";
    cr_expect_eq(join_plan_make(&plan, &wrong, &err), EXEC_COLUMN_NOT_FOUND, "%s", err.detail);
    plan_builder_fini(&plan);
}

Test(join_plan, mark_and_not_in_show_the_left_side)
{
    struct plan_builder plan;
    struct exec_error err = {0};
    struct join_request request = join_of(&plan);

    request.kind = join_kind_of("mark");
    request.where = "not mark";
    request.order = "mark";
    expect_plan(&plan, join_plan_make(&plan, &request, &err), &err,
                "scan\nscan\njoin7 1 2 #1=#1\nfilter 3 (not #4)\nsort 4 #4:asc\n"
                "project 5 id=#1 name=#2 a=#3 mark=#4\n");

    struct join_request not_in = join_of(&plan);
    not_in.kind = join_kind_of("not-in");
    expect_plan(&plan, join_plan_make(&plan, &not_in, &err), &err,
                "scan\nscan\njoin8 1 2 #1=#1\nproject 3 id=#1 name=#2 a=#3\n");
    cr_expect_eq(join_kind_of("cross"), EXEC_JOIN_NONE);
}

Test(join_plan, columns_of_one_name)
{
    struct plan_builder plan;
    struct exec_error err = {0};
    struct join_request request = join_of(&plan);

    request.select = "r.*, l.*, x = l.a > 1";
    expect_plan(&plan, join_plan_make(&plan, &request, &err), &err,
                "scan\nscan\njoin1 1 2 #1=#1\n"
                "project 3 id=#4 name=#5 b=#6 id_left=#1 name_left=#2 a=#3 x=(gt #3 1)\n");

    struct join_request wrong = join_of(&plan);
    wrong.select = "l.id, r.id";
    cr_expect_eq(join_plan_make(&plan, &wrong, &err), EXEC_BAD_SPEC);
    cr_expect_not_null(strstr(err.detail, "--select, byte 7: two columns are called 'id'"), "%s",
                       err.detail);
    plan_builder_fini(&plan);
}

Test(join_plan, star_of_one_side_keeps_every_column)
{
    struct plan_builder plan;
    struct exec_error err = {0};
    struct join_request request = join_of(&plan);

    request.select = "r.*, l.a";
    expect_plan(&plan, join_plan_make(&plan, &request, &err), &err,
                "scan\nscan\njoin1 1 2 #1=#1\nproject 3 id=#4 name=#5 b=#6 a=#3\n");
}

static struct group_request group_of(struct plan_builder *plan)
{
    plan_builder_init(plan);
    return (struct group_request){.rel = builder_rel(plan, &scan), .name = "t", .limit = -1};
}

/* PostgreSQL's grammar alone would read "x = a > 1" as a chain of comparisons, an error. */
Test(group_plan, names_go_before_comparisons)
{
    struct plan_builder plan;
    struct exec_error err = {0};
    struct group_request request = group_of(&plan);

    request.by =
        "x = a = 1, Y=a is null, \"Big \"\"One\"\"\" = concat(b, ',', 'c = d'), (a = 2), t.a = 3,"
        "a > 4 as z, \xc3\xa9 = -a, a = a";
    expect_plan(&plan, group_plan_make(&plan, &request, &err), &err,
                "scan\naggregate 1 x=(eq a 1) y=(is_null a) Big \"One\"=(concat b ',' 'c = d') "
                "column4=(eq a 2) column5=(eq a 3) z=(gt a 4) \xc3\xa9=(negate a) a=a\n");
}

Test(group_plan, plain_measures_need_no_project)
{
    struct plan_builder plan;
    struct exec_error err = {0};
    struct group_request request = group_of(&plan);

    request.by = "city, y = year(t)";
    request.agg = "n = count(), total = sum(amount), max(price)";
    request.where = "amount > 0";
    request.order = "-total";
    request.limit = 10;
    expect_plan(&plan, group_plan_make(&plan, &request, &err), &err,
                "scan\nfilter 1 (gt amount 0)\n"
                "aggregate 2 city=city y=(year t) n:count*() total:sum(amount) max:max(price)\n"
                "sort 3 #4:desc limit 10\n");
}

Test(group_plan, computed_items_and_hidden_aggregates)
{
    struct plan_builder plan;
    struct exec_error err = {0};
    struct group_request request = group_of(&plan);

    request.by = "city";
    request.agg = "mean = sum(a) / count(a), count(distinct b), count()";
    request.having = "mean > 2 and min(c) < 5 and city <> 'x'";
    request.order = "max(d) desc, city";
    expect_plan(&plan, group_plan_make(&plan, &request, &err), &err,
                "scan\n"
                "aggregate 1 city=city measure1:sum(a) measure2:count(a) count:count_distinct(b) "
                "count_2:count*() measure5:min(c) measure6:max(d)\n"
                "filter 2 (and (gt (divide #2 #3) 2) (lt #6 5) (ne #1 'x'))\n"
                "sort 3 #7:desc-nulls-first #1:asc\n"
                "project 4 city=#1 mean=(divide #2 #3) count=#4 count_2=#5\n");
}

Test(group_plan, filter_and_whole_table)
{
    struct plan_builder plan;
    struct exec_error err = {0};
    struct group_request request = group_of(&plan);

    request.agg = "late = count() filter (where delay > 15)";
    expect_plan(&plan, group_plan_make(&plan, &request, &err), &err,
                "scan\naggregate 1 late:count*() filter (gt delay 15)\n");
}

Test(group_plan, refusals)
{
    static const struct {
        const char *by, *agg, *having, *word;
    } cases[] = {
        {NULL, NULL, NULL, "nothing to group"},
        {"sum(a)", "count()", NULL, "not allowed here"},
        {"a", "sum(sum(b))", NULL, "not allowed here"},
        {"a", "sum()", NULL, "takes one argument"},
        {"a", "n = b + 1", NULL, "'b' is neither a key nor an aggregate; there are: a"},
        {"a", "n = b", NULL, "'b' is neither a key nor an aggregate"},
        {NULL, "n = b", NULL, "'b' is neither a key nor an aggregate"},
        {"a", "count()", "nosuch > 1", "'nosuch' is neither a key nor an aggregate"},
        {"a", "array_agg(b)", NULL,
         "the aggregate array_agg() is not implemented yet; 'morsel help functions'"},
        {"a", "nofunc(a)", NULL, "unknown function nofunc(); 'morsel help functions'"},
        {"id = 1", "count()", NULL, "the key 'id' is a constant"},
        {"a, a", "count()", NULL, "two columns are called 'a'"},
        {"a", "a = count()", NULL, "two columns are called 'a'"},
        {"a", "n = count(), n = sum(b)", NULL, "two columns are called 'n'"},
        {"x = a as y", "count()", NULL, "two names, 'x' and 'y'"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan_builder plan;
        struct exec_error err = {0};
        struct group_request request = group_of(&plan);
        request.by = cases[i].by;
        request.agg = cases[i].agg;
        request.having = cases[i].having;
        cr_expect_neq(group_plan_make(&plan, &request, &err), EXEC_OK);
        cr_expect_not_null(strstr(err.detail, cases[i].word), "case %zu: %s", i, err.detail);
        plan_builder_fini(&plan);
    }
}
