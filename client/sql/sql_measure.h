#ifndef CLIENT_SQL_SQL_MEASURE_H
#define CLIENT_SQL_SQL_MEASURE_H

#include "sql_expr.h"

/* What stands inside the parentheses of an aggregate call, and behind them: arguments, parameters,
 * ORDER BY, WITHIN GROUP, FILTER. */
enum sql_measure_shape {
    MEASURE_PLAIN,
    MEASURE_PAIR,      /* two arguments */
    MEASURE_MEDIAN,    /* a quantile of one half */
    MEASURE_FRACTION,  /* (x, fraction), or (fraction) WITHIN GROUP (ORDER BY x) */
    MEASURE_SEPARATOR, /* (x, separator) */
    MEASURE_MODE,      /* (x), or () WITHIN GROUP (ORDER BY x) */
    MEASURE_ORDERED,   /* one argument; ORDER BY chooses */
};

/* Fills in all but function, name and distinct; `inside` sees the aggregate's input. false: refused
 * in inside->err. */
bool sql_lower_measure(struct sql_lowering *inside, const char *name, enum sql_measure_shape shape,
                       json_t *body, long location, struct exec_measure *measure);

#endif
