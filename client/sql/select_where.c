/* WHERE: conjuncts to filters, join keys and, where they name the query around, to its subquery
 * joins; the inputs of FROM to one left-deep tree of joins. */
#include "select_query.h"

struct conjunct {
    json_t *tree;
    uint64_t mask; /* the inputs it names */
    bool late;     /* holds a subquery */
    bool done;
};

/* left = right, each of some inputs. */
struct equality {
    json_t *left, *right;
    uint64_t left_mask, right_mask;
    struct conjunct *owner; /* NULL: follows from a disjunction, which is still to be checked */
};

struct where {
    struct select_query *query;
    struct select_input *inputs;
    uint32_t input_count;
    struct conjunct *conjuncts;
    uint32_t conjunct_count;
    struct equality *equalities;
    uint32_t equality_count, equality_room;
    struct select_frame frame; /* of the inputs in `mask` */
    uint64_t mask;
};

uint32_t select_both(struct select_query *query, uint32_t left, uint32_t right)
{
    const uint32_t pair[] = {left, right};

    if (left == 0 || right == 0) {
        return left == 0 ? right : left;
    }
    return builder_call(query->run->plan, "and", pair, 2, NULL);
}

void select_filter(struct select_query *query, struct select_frame *frame, uint32_t predicate)
{
    const struct exec_rel rel = {
        .kind = EXEC_REL_FILTER,
        .u.filter = {.input = frame->rel, .predicate = predicate},
    };

    if (predicate != 0) {
        frame->rel = builder_rel(query->run->plan, &rel);
    }
}

/* ---- what a tree names */

enum { MASK_OUTER = 1, MASK_UNKNOWN = 2 };

struct mask_search {
    const struct where *where;
    uint64_t mask;
    unsigned others;
};

static bool visit_mask(void *owner, const char *kind, json_t *body)
{
    struct mask_search *search = owner;
    struct select_query *found = NULL;

    if (strcmp(kind, "SubLink") == 0) {
        search->others |= MASK_UNKNOWN;
        return false;
    }
    if (strcmp(kind, "ColumnRef") != 0) {
        return true;
    }
    const uint32_t id = select_resolve_quietly(search->where->query, body, &found);
    bool is_here = false;
    for (uint32_t i = 0; id != 0 && i < search->where->input_count; i++) {
        if (frame_position(&search->where->inputs[i].frame, id) != 0) {
            search->mask |= UINT64_C(1) << i;
            is_here = true; /* outer columns too, of the domain */
        }
    }
    if (id == 0) {
        search->others |= MASK_UNKNOWN;
    } else if (found != search->where->query && !is_here) {
        search->others |= MASK_OUTER;
    }
    return true;
}

static uint64_t mask_of(const struct where *where, json_t *tree, unsigned *others_out)
{
    struct mask_search search = {.where = where};

    tree_walk(tree, visit_mask, &search);
    *others_out = search.others;
    return search.mask;
}

/* ---- equalities */

static void add_equality(struct where *where, json_t *tree, struct conjunct *owner)
{
    struct equality equality = {.owner = owner};
    const char *op = tree_operator(tree, &equality.left, &equality.right);
    unsigned left = 0, right = 0;

    if (op == NULL || strcmp(op, "=") != 0) {
        return;
    }
    equality.left_mask = mask_of(where, equality.left, &left);
    equality.right_mask = mask_of(where, equality.right, &right);
    if (left != 0 || right != 0 || equality.left_mask == 0 || equality.right_mask == 0 ||
        (equality.left_mask & equality.right_mask) != 0 ||
        where->equality_count == where->equality_room) {
        return;
    }
    where->equalities[where->equality_count++] = equality;
}

static bool in_every_branch(struct select_query *query, json_t *tree, json_t *branches)
{
    json_t *branch = NULL, *part = NULL;
    size_t i, j;

    json_array_foreach(branches, i, branch)
    {
        json_t *parts = json_array();
        bool found = false;
        tree_flatten(branch, "AND_EXPR", parts);
        json_array_foreach(parts, j, part)
        {
            found = found || tree_equal(part, tree, select_same_column, query);
        }
        json_decref(parts);
        if (!found) {
            return false;
        }
    }
    return true;
}

/* (a = b AND x) OR (a = b AND y): a = b holds in any case. */
static void add_common_equalities(struct where *where, json_t *tree)
{
    json_t *branches = json_array(), *parts = json_array(), *part = NULL;
    size_t i;

    tree_flatten(tree, "OR_EXPR", branches);
    if (json_array_size(branches) > 1) {
        tree_flatten(json_array_get(branches, 0), "AND_EXPR", parts);
    }
    json_array_foreach(parts, i, part)
    {
        json_t *left = NULL, *right = NULL;
        const char *op = tree_operator(part, &left, &right);
        if (op != NULL && strcmp(op, "=") == 0 && in_every_branch(where->query, part, branches)) {
            add_equality(where, part, NULL);
        }
    }
    json_decref(parts);
    json_decref(branches);
}

/* ---- reading WHERE */

static uint32_t lower_over(struct where *where, struct select_frame *frame, json_t *tree)
{
    struct select_query *query = where->query;
    struct select_frame *before = query->frame;

    query->frame = frame;
    const uint32_t expr = select_expr(query, tree);
    query->frame = before;
    return expr;
}

static enum exec_code read_conjuncts(struct where *where, json_t *trees)
{
    struct select_query *query = where->query;
    const uint32_t count = (uint32_t)json_array_size(trees);

    where->conjuncts = builder_alloc(query->run->plan, (count + 1) * sizeof *where->conjuncts);
    where->equality_room = 4 * count + 4;
    where->equalities =
        builder_alloc(query->run->plan, where->equality_room * sizeof *where->equalities);
    for (uint32_t i = 0; i < count; i++) {
        json_t *tree = json_array_get(trees, i);
        struct conjunct *conjunct = &where->conjuncts[where->conjunct_count++];
        unsigned others = 0;
        *conjunct = (struct conjunct){.tree = tree, .mask = mask_of(where, tree, &others)};
        conjunct->late = tree_has(tree, "SubLink");
        if (conjunct->late) {
            continue;
        }
        if (others == MASK_OUTER) {
            json_array_append(query->correlated, tree);
            conjunct->done = true;
            continue;
        }
        add_equality(where, tree, conjunct);
        add_common_equalities(where, tree);
    }
    return EXEC_OK;
}

/* Filters `frame` by the open conjuncts that name nothing but the inputs of `mask`. */
static enum exec_code apply_conjuncts(struct where *where, uint64_t mask,
                                      struct select_frame *frame)
{
    uint32_t all = 0;

    for (uint32_t i = 0; i < where->conjunct_count; i++) {
        struct conjunct *conjunct = &where->conjuncts[i];
        if (conjunct->done || conjunct->late || conjunct->mask == 0 ||
            (conjunct->mask & ~mask) != 0) {
            continue;
        }
        const uint32_t expr = lower_over(where, frame, conjunct->tree);
        if (expr == 0) {
            return where->query->run->err->code;
        }
        all = select_both(where->query, all, expr);
        conjunct->done = true;
    }
    select_filter(where->query, frame, all);
    return EXEC_OK;
}

/* ---- joins */

/* The equality's side of `mask`, when the other side is of input `i` alone. */
static bool links(const struct equality *equality, uint64_t mask, uint32_t i)
{
    const uint64_t one = UINT64_C(1) << i;

    return ((equality->left_mask & ~mask) == 0 && equality->right_mask == one) ||
           ((equality->right_mask & ~mask) == 0 && equality->left_mask == one);
}

/* As written, but an input that an equality ties to those before goes before one that none does. */
static uint32_t next_input(const struct where *where)
{
    uint32_t first = UINT32_MAX;

    for (uint32_t i = 0; i < where->input_count; i++) {
        if ((where->mask & UINT64_C(1) << i) != 0) {
            continue;
        }
        first = first == UINT32_MAX ? i : first;
        for (uint32_t e = 0; e < where->equality_count; e++) {
            if (links(&where->equalities[e], where->mask, i)) {
                return i;
            }
        }
    }
    return first;
}

static enum exec_code join_input(struct where *where, uint32_t i)
{
    struct select_query *query = where->query;
    struct select_join join = {.kind = EXEC_JOIN_INNER};

    for (uint32_t e = 0; e < where->equality_count; e++) {
        const struct equality *equality = &where->equalities[e];
        if (!links(equality, where->mask, i)) {
            continue;
        }
        const bool straight = equality->right_mask == UINT64_C(1) << i;
        json_t *mine = straight ? equality->left : equality->right;
        json_t *other = straight ? equality->right : equality->left;
        const uint32_t left = lower_over(where, &where->frame, mine);
        const uint32_t right = left == 0 ? 0 : lower_over(where, &where->inputs[i].frame, other);
        if (select_join_key(query, &join, left, right, sql_node_location(mine)) != EXEC_OK) {
            return query->run->err->code;
        }
        if (equality->owner != NULL) {
            equality->owner->done = true;
        }
    }
    select_join_frames(query, &where->frame, &where->inputs[i].frame, &join);
    where->mask |= UINT64_C(1) << i;
    return apply_conjuncts(where, where->mask, &where->frame);
}

static enum exec_code join_inputs(struct where *where)
{
    for (uint32_t i = 0; i < where->input_count; i++) {
        if (apply_conjuncts(where, UINT64_C(1) << i, &where->inputs[i].frame) != EXEC_OK) {
            return where->query->run->err->code;
        }
    }
    where->frame = where->inputs[0].frame;
    where->mask = 1;
    for (uint32_t joined = 1; joined < where->input_count; joined++) {
        if (join_input(where, next_input(where)) != EXEC_OK) {
            return where->query->run->err->code;
        }
    }
    return EXEC_OK;
}

enum exec_code select_conjunct(struct select_query *query, json_t *conjunct)
{
    enum exec_code code = EXEC_OK;

    if (select_sublink_condition(query, conjunct, &code)) {
        return code;
    }
    const uint32_t expr = select_expr(query, conjunct);
    select_filter(query, query->frame, expr);
    return expr == 0 ? query->run->err->code : EXEC_OK;
}

enum exec_code select_where(struct select_query *query, struct select_input *inputs,
                            uint32_t input_count, json_t *tree, struct select_frame *out)
{
    struct where where = {.query = query, .inputs = inputs, .input_count = input_count};
    json_t *trees = json_array();

    tree_flatten(tree, "AND_EXPR", trees);
    enum exec_code code = read_conjuncts(&where, trees);
    code = code == EXEC_OK ? join_inputs(&where) : code;
    if (code == EXEC_OK) {
        *out = where.frame;
        query->frame = out;
    }
    for (uint32_t i = 0; code == EXEC_OK && i < where.conjunct_count; i++) {
        if (!where.conjuncts[i].done) {
            code = select_conjunct(query, where.conjuncts[i].tree);
        }
    }
    json_decref(trees);
    return code;
}
