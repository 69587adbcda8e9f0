/* Goal:   every function of signatures.def and every cast gives the documented answer at its
 * corners: calendar, text, rounding, ranges, decimals, NaN, nulls; errors carry the value and the
 * types. Method: tables of calls on literals, each argument written as "type:text", bound,
 * evaluated on one row and printed; functions without a row in a table fail the last test. */
#include "expr/expr.h"

#include "arena_fixture.h"
#include "expr/function_rules.h"
#include "expr_builder.h"

#include <stdio.h>
#include <stdlib.h>

static struct arena_fixture fixture;
static struct expr_builder b;

static void init(void)
{
    arena_fixture_init(&fixture, UINT64_MAX);
    memset(&b, 0, sizeof b);
}
static void fini(void)
{
    arena_fixture_fini(&fixture);
}
TestSuite(expr_functions, .init = init, .fini = fini);

/* "int32:5" is 5 cast to int32, "utf8:" the empty text, "int32:null" a null. */
static uint32_t make_argument(const char *argument)
{
    const char *colon = strchr(argument, ':');
    char type[40];

    cr_assert_not_null(colon, "%s", argument);
    snprintf(type, sizeof type, "%.*s", (int)(colon - argument), argument);
    if (strcmp(colon + 1, "null") == 0) {
        struct exec_literal literal = {.is_null = true};
        cr_assert(exec_type_parse(type, &literal.type), "%s", type);
        return build_literal(&b, literal);
    }
    return strcmp(type, "utf8") == 0 ? build_text(&b, colon + 1)
                                     : build_cast(&b, build_text(&b, colon + 1), type, false);
}

/* The value as text, or the code's name and the detail of the error. */
static void evaluate(uint32_t index, char *text, size_t bytes)
{
    static const struct expr_scope scope = {{NULL, NULL}, 0};
    const struct batch one = {.row_count = 1, .sel_count = 1};
    struct exec_error err;
    struct expr *expr;
    struct expr *as_text;
    struct vec vec;
    enum exec_code code = expr_bind(&fixture.arena, &b.spec, index, &scope, &expr, &err);

    if (code == EXEC_OK) {
        code = expr_eval(expr, &one, &fixture.scratch, &vec, &err);
    }
    if (code != EXEC_OK) {
        snprintf(text, bytes, "%s: %s", exec_code_name(code), err.detail);
        return;
    }
    if (!vec_is_valid(&vec, 0)) {
        snprintf(text, bytes, "null");
        return;
    }
    const struct exec_type utf8 = {.kind = EXEC_TYPE_UTF8};
    cr_assert_eq(expr_cast(&fixture.arena, expr, &utf8, &as_text, &err), EXEC_OK);
    cr_assert_eq(expr_eval(as_text, &one, &fixture.scratch, &vec, &err), EXEC_OK);
    const struct string_view *view = vec.data;
    snprintf(text, bytes, "%.*s", (int)view->size, string_view_bytes(view));
}

struct call_case {
    const char *function;
    const char *args[4];
    const char *expected; /* with a colon: an error begins like this or contains what follows it */
};

static const struct call_case calls[] = {
    {"add", {"int8:100", "int8:27"}, "127"},
    {"add", {"int8:100", "int8:28"}, "OVERFLOW: add: 100 + 28 does not fit int8"},
    {"add", {"uint64:18446744073709551615", "uint64:1"}, "OVERFLOW: add: "},
    {"add", {"date32:2012-02-28", "int32:2"}, "2012-03-01"},
    {"add", {"decimal(10,2):1.25", "decimal(10,1):2.5"}, "3.75"},
    {"add",
     {"decimal(38,0):99999999999999999999999999999999999999", "decimal(38,0):1"},
     "OVERFLOW"},
    {"add", {"decimal(10,2):1.25", "int32:2"}, "3.25"},
    {"add", {"float32:0.5", "float32:null"}, "null"},
    {"subtract", {"uint8:1", "uint8:2"}, "OVERFLOW: subtract: 1 - 2 does not fit uint8"},
    {"subtract", {"date32:2013-03-01", "date32:2013-02-01"}, "28"},
    {"multiply", {"int64:4611686018427387904", "int64:2"}, "OVERFLOW"},
    {"multiply", {"int32:-46341", "int32:46340"}, "-2147441940"},
    {"multiply", {"decimal(10,2):1.50", "decimal(10,2):-2.50"}, "-3.7500"},
    {"multiply", {"decimal(10,2):1.50", "int64:3"}, "4.50"},
    {"multiply", {"decimal(38,19):1", "decimal(38,20):1"}, "1.000000000000"},
    {"multiply", {"decimal(38,19):-0.0000000000015", "decimal(38,20):1"}, "-0.000000000002"},
    {"multiply", {"decimal(38,19):0.00000000000049", "decimal(38,20):1"}, "0.000000000000"},
    {"multiply",
     {"decimal(38,12):99999999999999999999999999", "decimal(38,12):-0.999999999999"},
     "-99999999999899999999999999.000000000001"},
    {"multiply", {"decimal(38,12):99999999999999999999999999", "decimal(38,12):10"}, "OVERFLOW"},
    {"multiply",
     {"decimal(38,0):99999999999999999999999999999999999999",
      "decimal(38,20):0.00000000000000000001"},
     "1000000000000000000.000000000000"},
    {"add", {"int32:1", "utf8:2"}, "3"},
    {"add", {"int32:1", "utf8:x"}, "TYPE_MISMATCH: the text 'x' stands beside int32"},
    {"subtract",
     {"timestamp[s]:2013-01-02 00:00:00", "timestamp[ms]:2013-01-01 23:59:59.5"},
     "500"},
    {"divide", {"int32:-7", "int32:2"}, "-3"},
    {"divide", {"int32:7", "int32:0"}, "BAD_ARGUMENT: divide: 7 / 0: division by zero"},
    {"divide", {"int32:-2147483648", "int32:-1"}, "OVERFLOW: divide"},
    {"divide", {"float64:1", "float64:0"}, "Infinity"},
    {"divide", {"decimal(4,1):1.5", "decimal(4,1):1.5"}, "1.000000000000"},
    {"divide", {"decimal(38,0):-2", "int32:3"}, "-0.666666666667"},
    {"divide", {"int64:1", "decimal(10,8):0.00000003"}, "33333333.333333333333"},
    {"divide",
     {"decimal(38,0):99999999999999999999999999", "int8:1"},
     "99999999999999999999999999.000000000000"},
    {"divide", {"decimal(38,0):99999999999999999999999999999999999999", "int8:-1"}, "OVERFLOW"},
    {"divide",
     {"decimal(38,0):10000000000000000000000000000000000001",
      "decimal(38,0):30000000000000000000000000000000000000"},
     "0.333333333333"},
    {"divide",
     {"decimal(38,0):99999999999999999999999999999999999999",
      "decimal(38,0):99999999999999999999999999999999999998"},
     "1.000000000000"},
    {"divide", {"decimal(4,1):1.5", "int32:0"}, "BAD_ARGUMENT: divide: 1.5 / 0: division by zero"},
    {"modulo", {"int32:-7", "int32:2"}, "-1"},
    {"modulo", {"int64:-9223372036854775808", "int64:-1"}, "0"},
    {"modulo", {"int64:5", "int64:0"}, "BAD_ARGUMENT"},
    {"modulo", {"float64:7.5", "float64:2"}, "1.5"},
    {"modulo", {"decimal(4,1):7.5", "decimal(4,1):2.0"}, "1.5"},
    {"modulo", {"decimal(4,1):7.5", "decimal(4,1):0"}, "BAD_ARGUMENT"},
    {"negate", {"uint8:200"}, "-200"},
    {"negate", {"int8:-128"}, "OVERFLOW: negate: -128 has no counterpart in int8"},
    {"negate", {"decimal(10,2):1.50"}, "-1.50"},
    {"abs", {"int16:-3"}, "3"},
    {"abs", {"uint16:3"}, "3"},
    {"abs", {"decimal(10,2):-1.50"}, "1.50"},
    {"abs", {"float32:-1.5"}, "1.5"},

    {"eq", {"float64:NaN", "float64:NaN"}, "true"},
    {"eq", {"float64:0", "float64:-0.0"}, "true"},
    {"eq", {"int64:9007199254740993", "float64:9007199254740992"}, "false"},
    {"eq", {"uint64:18446744073709551615", "int64:-1"}, "false"},
    {"eq", {"decimal(10,2):1.50", "decimal(12,4):1.5"}, "true"},
    {"eq", {"date32:2013-01-01", "timestamp[ms]:2013-01-01 00:00:00"}, "true"},
    {"eq", {"utf8:abcdefghijklmnop", "utf8:abcdefghijklmnoq"}, "false"},
    {"ne", {"utf8:", "utf8:a"}, "true"},
    {"lt", {"float64:Infinity", "float64:NaN"}, "true"},
    {"lt", {"utf8:a", "utf8:a "}, "true"},
    {"lt", {"uint64:18446744073709551615", "float64:18446744073709551616"}, "true"},
    {"lt", {"int8:1", "int8:null"}, "null"},
    {"le", {"bool:false", "bool:true"}, "true"},
    {"le", {"decimal(10,2):1.51", "int32:1"}, "false"},
    {"gt", {"int64:5", "float64:4.5"}, "true"},
    {"gt", {"int64:-5", "float64:NaN"}, "false"},
    {"ge", {"timestamp[s]:1969-12-31 23:59:59", "timestamp[ns]:1969-12-31 23:59:59.5"}, "false"},
    {"is_distinct_from", {"int8:null", "int64:null"}, "false"},
    {"is_distinct_from", {"int8:null", "int64:1"}, "true"},
    {"is_distinct_from", {"int8:1", "float64:1"}, "false"},
    {"is_not_distinct_from", {"int8:null", "int64:null"}, "true"},
    {"is_not_distinct_from", {"utf8:x", "utf8:y"}, "false"},
    {"between", {"int32:5", "int32:1", "int32:5"}, "true"},
    {"between", {"int32:5", "int32:null", "int32:4"}, "false"},
    {"between", {"int32:5", "int32:null", "int32:5"}, "null"},
    {"least", {"int32:3", "int64:1", "int8:2"}, "1"},
    {"least", {"float64:NaN", "float64:1"}, "1"},
    {"greatest", {"utf8:a", "utf8:b", "utf8:"}, "b"},
    {"greatest", {"int32:1", "int32:null"}, "null"},

    {"and", {"bool:null", "bool:false"}, "false"},
    {"and", {"bool:null", "bool:true"}, "null"},
    {"or", {"bool:null", "bool:true"}, "true"},
    {"or", {"bool:false", "bool:null"}, "null"},
    {"not", {"bool:null"}, "null"},
    {"not", {"bool:false"}, "true"},
    {"is_null", {"utf8:null"}, "true"},
    {"is_null", {"utf8:"}, "false"},
    {"is_not_null", {"float32:null"}, "false"},
    {"coalesce", {"int8:null", "int32:null", "int16:7"}, "7"},
    {"coalesce", {"int8:null"}, "null"},
    {"if", {"bool:null", "int8:1", "int64:2"}, "2"},
    {"if", {"bool:true", "int8:1", "float64:2.5"}, "1"},

    {"floor", {"float64:-1.5"}, "-2"},
    {"floor", {"decimal(5,2):-1.50"}, "-2.00"},
    {"floor", {"int32:7"}, "7"},
    {"ceil", {"float32:1.25"}, "2"},
    {"ceil", {"decimal(5,2):1.01"}, "2.00"},
    {"round", {"float64:2.5"}, "3"},
    {"round", {"float64:-0.4"}, "-0"},
    {"round", {"decimal(5,2):-1.50"}, "-2.00"},
    {"round", {"decimal(5,2):1.49"}, "1.00"},
    {"round", {"decimal(4,2):99.99"}, "100.00"},
    {"round", {"decimal(5,3):1.234", "int32:1"}, "1.200"},
    {"round", {"decimal(5,3):-1.250", "int32:1"}, "-1.300"},
    {"round", {"decimal(5,2):1.25", "int32:7"}, "1.25"},
    {"round", {"decimal(5,2):555.55", "int32:-3"}, "1000.00"},
    {"round", {"decimal(5,2):555.55", "int32:-300"}, "0.00"},
    {"round", {"float64:2.675", "int32:1"}, "2.7"},
    {"round", {"float64:1234.5", "int32:-2"}, "1200"},
    {"round", {"float64:1e300", "int32:300"}, "1e+300"},
    {"round", {"float64:1e300", "int32:-350"}, "0"},
    {"round", {"int32:1250", "int32:-2"}, "1300"},
    {"round", {"int8:127", "int32:-1"}, "OVERFLOW: round: 127 does not fit int8"},
    {"round", {"int8:127", "int32:1"}, "127"},
    {"round", {"float64:1", "float64:1"}, "BAD_SPEC: round: the number of digits"},
    {"trunc", {"float64:-1.9"}, "-1"},
    {"trunc", {"decimal(5,3):-1.259", "int32:2"}, "-1.250"},
    {"sign", {"float64:-0.0"}, "0"},
    {"sign", {"decimal(5,3):-1.259"}, "-1"},
    {"sign", {"uint64:18446744073709551615"}, "1"},
    {"sign", {"int8:-128"}, "-1"},
    {"sign", {"float32:NaN"}, "0"},
    {"single_value", {"utf8:x", "int32:1"}, "x"},
    {"single_value", {"utf8:null", "int64:null"}, "null"},
    {"single_value",
     {"utf8:null", "int64:2"},
     "BAD_ARGUMENT: a subquery used as a value gives 2 rows"},
    {"log10", {"int32:1000"}, "3"},
    {"log10", {"int32:0"}, "BAD_ARGUMENT: log10(0) is no real number"},
    {"log2", {"int32:8"}, "3"},
    {"sqrt", {"int32:9"}, "3"},
    {"sqrt", {"float64:-1"}, "BAD_ARGUMENT: sqrt(-1) is no real number"},
    {"sqrt", {"float64:NaN"}, "NaN"},
    {"ln", {"float64:0"}, "BAD_ARGUMENT"},
    {"ln", {"float64:1"}, "0"},
    {"exp", {"float64:0"}, "1"},
    {"power", {"int32:2", "int32:10"}, "1024"},
    {"power", {"float64:-8", "float64:0.5"}, "BAD_ARGUMENT: power(-8, 0.5)"},

    {"length", {"utf8:"}, "0"},
    {"length", {"utf8:\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80x"}, "4"},
    {"lower", {"utf8:ABC \xc3\x84 XYZ and more"}, "abc \xc3\xa4 xyz and more"},
    {"lower",
     {"utf8:\xc8\xba\xc8\xba\xc8\xba\xc8\xba\xc8\xba"},
     "\xe2\xb1\xa5\xe2\xb1\xa5\xe2\xb1\xa5\xe2\xb1\xa5\xe2\xb1\xa5"},
    {"upper", {"utf8:a{z`"}, "A{Z`"},
    {"upper",
     {"utf8:stra\xc3\x9f"
      "e \xce\xb1 \xd1\x8f"},
     "STRA\xe1\xba\x9e"
     "E \xce\x91 \xd0\xaf"},
    {"trim", {"utf8:  a b  "}, "a b"},
    {"trim", {"utf8:   "}, ""},
    {"trim", {"utf8:xyabcdefghijklmnopyx", "utf8:yx"}, "abcdefghijklmnop"},
    {"trim", {"utf8:\xc3\xa4\xc3\xb6x\xc3\xa4", "utf8:\xc3\xa4"}, "\xc3\xb6x"},
    {"trim", {"utf8: x ", "utf8:"}, " x "},
    {"ltrim", {"utf8:  a "}, "a "},
    {"ltrim", {"utf8:aab", "utf8:a"}, "b"},
    {"rtrim", {"utf8: a  "}, " a"},
    {"rtrim", {"utf8:abb", "utf8:b"}, "a"},
    {"replace", {"utf8:a-b-c", "utf8:-", "utf8:+++++++"}, "a+++++++b+++++++c"},
    {"replace", {"utf8:aaa", "utf8:aa", "utf8:b"}, "ba"},
    {"replace", {"utf8:abc", "utf8:", "utf8:x"}, "abc"},
    {"replace", {"utf8:abc", "utf8:abc", "utf8:"}, ""},
    {"replace", {"utf8:abc", "utf8:null", "utf8:"}, "null"},
    {"position", {"utf8:h\xc3\xa4llo", "utf8:l"}, "3"},
    {"position", {"utf8:hello", "utf8:x"}, "0"},
    {"position", {"utf8:hello", "utf8:"}, "1"},
    {"concat", {"utf8:a", "int32:1", "date32:2013-01-01"}, "a12013-01-01"},
    {"concat", {"utf8:abcdef", "utf8:", "utf8:ghijklm"}, "abcdefghijklm"},
    {"concat", {"utf8:a", "utf8:null"}, "null"},
    {"substring", {"utf8:h\xc3\xa4llo", "int32:2", "int32:3"}, "\xc3\xa4ll"},
    {"substring", {"utf8:hello", "int64:-1", "int64:3"}, "h"},
    {"substring", {"utf8:hello", "int64:4"}, "lo"},
    {"substring", {"utf8:hello", "int64:9", "int64:9223372036854775807"}, ""},
    {"substring", {"utf8:hello", "int64:2", "int64:-1"}, "BAD_ARGUMENT: substring"},
    {"starts_with", {"utf8:hello", "utf8:hel"}, "true"},
    {"starts_with", {"utf8:he", "utf8:hel"}, "false"},
    {"ends_with", {"utf8:hello", "utf8:llo"}, "true"},
    {"ends_with", {"utf8:hello", "utf8:"}, "true"},
    {"contains", {"utf8:a longer text", "utf8:ger t"}, "true"},
    {"contains", {"utf8:abc", "utf8:d"}, "false"},
    {"like", {"utf8:abcabd", "utf8:%abd"}, "true"},
    {"like", {"utf8:abc", "utf8:a_c"}, "true"},
    {"like", {"utf8:\xc3\xa4", "utf8:_"}, "true"},
    {"like", {"utf8:a%c", "utf8:a\\%c"}, "true"},
    {"like", {"utf8:abc", "utf8:a\\%c"}, "false"},
    {"like", {"utf8:", "utf8:%%"}, "true"},
    {"like", {"utf8:aab", "utf8:%a_"}, "true"},
    {"like", {"utf8:abc", "utf8:"}, "false"},
    {"like", {"utf8:a%c", "utf8:a#%c", "utf8:#"}, "true"},
    {"like", {"utf8:abc", "utf8:a#%c", "utf8:#"}, "false"},
    {"like", {"utf8:a\\c", "utf8:a\\c", "utf8:"}, "true"},
    {"like", {"utf8:a%", "utf8:a%%", "utf8:%"}, "true"},
    {"like", {"utf8:ab", "utf8:a%%", "utf8:%"}, "false"},
    {"like", {"utf8:a_", "utf8:a\xc3\xa4_", "utf8:\xc3\xa4"}, "true"},
    {"like", {"utf8:a", "utf8:a", "utf8:##"}, "BAD_ARGUMENT: like: the escape '##'"},
    {"ilike", {"utf8:\xc3\x84x", "utf8:\xc3\xa4X"}, "true"},
    {"ilike", {"utf8:\xc3\x84x", "utf8:\xc3\xb6X"}, "false"},
    {"ilike", {"utf8:HeLLo[", "utf8:h_ll%{"}, "false"},
    {"ilike", {"utf8:HeLLo", "utf8:h_lL%"}, "true"},
    {"regexp_matches", {"utf8:hello", "utf8:l+o$"}, "true"},
    {"regexp_matches", {"utf8:hello\n", "utf8:o$"}, "false"},
    {"regexp_matches", {"utf8:HELLO", "utf8:ell"}, "false"},
    {"regexp_matches", {"utf8:H\xc3\x84LLO", "utf8:\xc3\xa4l", "utf8:i"}, "true"},
    {"regexp_matches", {"utf8:a\nb", "utf8:a.b"}, "false"},
    {"regexp_matches", {"utf8:a\nb", "utf8:a.b", "utf8:s"}, "true"},
    {"regexp_matches", {"utf8:a\nb", "utf8:^b", "utf8:m"}, "true"},
    {"regexp_matches", {"utf8:\xc3\xa4", "utf8:^.$"}, "true"},
    {"regexp_matches", {"utf8:x", "utf8:null"}, "null"},
    {"regexp_matches", {"utf8:null", "utf8:x"}, "null"},
    {"regexp_matches",
     {"utf8:x", "utf8:a(b"},
     "BAD_SPEC: regular expression 'a(b': missing closing parenthesis at byte 4"},
    {"regexp_matches",
     {"utf8:x", "utf8:x", "utf8:q"},
     "BAD_SPEC: regular expression: no option 'q'"},
    {"regexp_matches",
     {"utf8:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "utf8:(x+x+)+y|(a|aa)+$b"},
     "LIMIT: regexp_matches: the pattern '(x+x+)+y|(a|aa)+$b' takes more than 1000000 steps"},
    {"regexp_full_match", {"utf8:hello", "utf8:h.*|x"}, "true"},
    {"regexp_full_match", {"utf8:hello", "utf8:ell|hell"}, "false"},
    {"similar_to", {"utf8:abc", "utf8:a(b|x)_"}, "true"},
    {"similar_to", {"utf8:a\nb", "utf8:a%"}, "true"},
    {"similar_to", {"utf8:abc", "utf8:a.c"}, "false"},
    {"similar_to", {"utf8:a.c", "utf8:a.c"}, "true"},
    {"similar_to", {"utf8:ab", "utf8:[a-c]{2}"}, "true"},
    {"similar_to", {"utf8:a%", "utf8:a\\%"}, "true"},
    {"similar_to", {"utf8:ab", "utf8:a#%", "utf8:#"}, "false"},
    {"similar_to", {"utf8:ab", "utf8:a#", "utf8:#"}, "BAD_SPEC: similar_to: the pattern ends"},

    {"year", {"date32:-0001-02-03"}, "-1"},
    {"quarter", {"date32:2013-12-31"}, "4"},
    {"month", {"timestamp[us]:1969-12-31 23:59:59.999999"}, "12"},
    {"day", {"date32:2000-02-29"}, "29"},
    {"day_of_week", {"date32:2013-01-06"}, "7"},
    {"day_of_week", {"date32:1969-12-29"}, "1"},
    {"day_of_year", {"date32:2012-12-31"}, "366"},
    {"hour", {"timestamp[ms]:2013-01-01 05:06:07.89"}, "5"},
    {"hour", {"date32:2013-01-01"}, "0"},
    {"minute", {"timestamp[ms]:1960-01-01 05:06:07"}, "6"},
    {"second", {"timestamp[ns]:2013-01-01 05:06:07.89"}, "7"},
    /* The least and the greatest instant there is. */
    {"hour", {"timestamp[us]:-290308-12-21 19:59:05.224192"}, "19"},
    {"second", {"timestamp[ns]:1677-09-21 00:12:43.145224192"}, "43"},
    {"second", {"timestamp[us]:+294247-01-10 04:00:54.775807"}, "54"},
    {"date_trunc", {"utf8:hour", "timestamp[us]:-290308-12-21 19:59:05.224192"}, "OVERFLOW"},
    {"date_trunc", {"utf8:month", "date32:2013-05-17"}, "2013-05-01"},
    {"date_trunc", {"utf8:week", "date32:2013-01-01"}, "2012-12-31"},
    {"date_trunc", {"utf8:quarter", "timestamp[s]:2013-05-17 10:00:00"}, "2013-04-01 00:00:00"},
    {"date_trunc", {"utf8:hour", "timestamp[us]:1969-12-31 23:59:59.5"}, "1969-12-31 23:00:00"},
    {"date_trunc", {"utf8:year", "date32:null"}, "null"},
    {"date_trunc",
     {"utf8:milliseconds", "timestamp[us]:2013-01-01 00:00:00.123456"},
     "2013-01-01 00:00:00.123000"},
    {"date_trunc",
     {"utf8:microsecond", "timestamp[ms]:2013-01-01 00:00:00.123"},
     "2013-01-01 00:00:00.123"},
    {"week", {"date32:2021-01-03"}, "53"},
    {"week", {"date32:2020-12-28"}, "53"},
    {"week", {"date32:2018-12-31"}, "1"},
    {"week", {"date32:1969-12-28"}, "52"},
    {"iso_year", {"date32:2021-01-03"}, "2020"},
    {"iso_year", {"timestamp[s]:2018-12-31 23:00:00"}, "2019"},
    {"millisecond", {"timestamp[us]:1969-12-31 23:59:59.999999"}, "59999"},
    {"microsecond", {"timestamp[ns]:1969-12-31 23:59:59.9999991"}, "59999999"},
    {"microsecond", {"timestamp[s]:2013-01-01 00:00:07"}, "7000000"},
    {"epoch", {"timestamp[ms]:1970-01-01 00:00:01.5"}, "1.5"},
    {"epoch", {"timestamp[ms,UTC]:1970-01-01 00:00:01.5Z"}, "1.5"},
    {"epoch", {"date32:1970-01-02"}, "86400"},
    {"date_diff", {"utf8:year", "date32:2012-12-31", "date32:2013-01-01"}, "1"},
    {"date_diff", {"utf8:month", "date32:2013-03-01", "date32:2012-12-31"}, "-3"},
    {"date_diff", {"utf8:quarter", "date32:2013-03-31", "date32:2013-04-01"}, "1"},
    {"date_diff", {"utf8:week", "date32:2013-01-06", "date32:2013-01-07"}, "1"},
    {"date_diff", {"utf8:day", "date32:2013-01-01", "timestamp[s]:2013-01-02 01:00:00"}, "1"},
    {"date_diff",
     {"utf8:hour", "timestamp[s]:2013-01-01 00:59:59", "timestamp[s]:2013-01-01 01:00:00"},
     "1"},
    {"date_diff",
     {"utf8:microsecond", "timestamp[s]:1970-01-01 00:00:00", "timestamp[s]:1970-01-01 00:00:01"},
     "1000000"},
    {"date_diff", {"utf8:hour", "date32:1970-01-01", "date32:1969-12-31"}, "-24"},
    {"date_diff", {"utf8:day", "date32:1970-01-01", "utf8:1970-01-03"}, "2"},
    {"date_diff",
     {"utf8:microsecond", "timestamp[s]:1970-01-01 00:00:00",
      "timestamp[s]:+300000-01-01 00:00:00"},
     "OVERFLOW: date_diff"},
    {"add_months", {"date32:2020-01-31", "int32:1"}, "2020-02-29"},
    {"add_months", {"date32:2020-03-31", "int32:-13"}, "2019-02-28"},
    {"add_months", {"timestamp[ms]:1969-12-31 23:59:59.999", "int8:2"}, "1970-02-28 23:59:59.999"},
    {"add_months",
     {"date32:2020-03-31", "int64:9223372036854775807"},
     "OVERFLOW: add_months: 9223372036854775807 from 2020-03-31 does not fit date32"},
    {"add_months", {"date32:2020-03-31", "int64:100000000"}, "OVERFLOW"},
    {"add_days", {"timestamp[ns]:2020-02-28 01:00:00", "int32:2"}, "2020-03-01 01:00:00"},
    {"add_days", {"date32:2020-02-28", "int64:4294967296"}, "OVERFLOW"},
    {"add_microseconds", {"date32:2020-02-28", "int32:-1"}, "2020-02-27 23:59:59.999999"},
    {"add_microseconds",
     {"timestamp[s]:2020-02-28 00:00:00", "int32:1500000"},
     "2020-02-28 00:00:01.500000"},
    {"add_microseconds",
     {"timestamp[ns]:2020-02-28 00:00:00", "int32:1"},
     "2020-02-28 00:00:00.000001000"},
    {"add_microseconds",
     {"timestamp[us]:2020-02-28 00:00:00", "int64:9223372036854775807"},
     "OVERFLOW"},
    {"hash", {"int8:-1", "utf8:null"}, "6151637849011313508"},
};

Test(expr_functions, calls)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        const struct call_case *call = &calls[i];
        uint32_t args[4];
        uint32_t count = 0;
        char text[600];

        b.spec.expr_count = 0;
        while (count < 4 && call->args[count] != NULL) {
            args[count] = make_argument(call->args[count]);
            count++;
        }
        evaluate(build_call(&b, call->function, count, args), text, sizeof text);
        const bool is_error = call->expected[0] >= 'A' && call->expected[0] <= 'Z' &&
                              call->expected[1] >= 'A' && call->expected[1] <= 'Z';
        const size_t compared = is_error ? strlen(call->expected) : sizeof text;
        cr_expect(strncmp(text, call->expected, compared) == 0, "%s(%s, %s): got %s, wanted %s",
                  call->function, call->args[0], count > 1 ? call->args[1] : "", text,
                  call->expected);
    }
}

static const struct {
    const char *from, *to, *expected;
} casts[] = {
    {"utf8:12", "int8", "12"},
    {"utf8: -7 ", "int64", "-7"},
    {"utf8:+7", "uint8", "7"},
    {"utf8:", "int32", "BAD_DATA: cast from utf8 to int32: '' is not a int32"},
    {"utf8:1.5", "int32", "BAD_DATA"},
    {"utf8:12x", "int32", "BAD_DATA: cast from utf8 to int32: '12x' is not a int32"},
    {"utf8:128", "int8", "OVERFLOW: cast from utf8 to int8: '128' does not fit"},
    {"utf8:-1", "uint64", "OVERFLOW"},
    {"utf8:18446744073709551615", "uint64", "18446744073709551615"},
    {"utf8:9223372036854775808", "int64", "OVERFLOW"},
    {"utf8:1e3", "float64", "1000"},
    {"utf8:0x10", "float64", "BAD_DATA"},
    {"utf8:1e400", "float64", "OVERFLOW"},
    {"utf8:1e39", "float32", "OVERFLOW"},
    {"utf8:-inf", "float64", "-Infinity"},
    {"utf8:nan", "float32", "NaN"},
    {"utf8:0.1", "float32", "0.1"},
    {"utf8:0.1", "float64", "0.1"},
    {"utf8:TRUE", "bool", "true"},
    {"utf8:maybe", "bool", "BAD_DATA"},
    {"float64:10.25", "decimal(4,1)", "10.3"},
    {"float32:-2.5", "decimal(4,0)", "-3"},
    {"utf8:1.005", "decimal(5,2)", "1.01"},
    {"utf8:-1.005", "decimal(5,2)", "-1.01"},
    {"utf8:1.00499", "decimal(5,2)", "1.00"},
    {"utf8:999.995", "decimal(5,2)", "OVERFLOW"},
    {"utf8:.5", "decimal(5,2)", "0.50"},
    {"utf8:.", "decimal(5,2)", "BAD_DATA"},
    {"utf8:2013-02-29", "date32", "BAD_DATA"},
    {"utf8:2012-02-29", "date32", "2012-02-29"},
    {"utf8:0000-01-01", "date32", "0000-01-01"},
    {"utf8:+12013-01-01", "date32", "+12013-01-01"},
    {"utf8:2013-1-1", "date32", "BAD_DATA"},
    {"utf8:2013-01-01T05:00:00Z", "timestamp[ms]", "2013-01-01 05:00:00"},
    {"utf8:2013-01-01 05:00:00+02:00", "timestamp[ms, UTC]", "2013-01-01 03:00:00Z"},
    {"utf8:2013-01-01 05:00", "timestamp[s]", "2013-01-01 05:00:00"},
    {"utf8:2013-01-01 05:00:00.1234", "timestamp[ms]", "2013-01-01 05:00:00.123"},
    {"utf8:2013-01-01 25:00:00", "timestamp[ms]", "BAD_DATA"},
    {"utf8:9999-01-01 00:00:00", "timestamp[ns]", "BAD_DATA"},
    {"utf8:1677-09-21 00:12:43.145224192", "timestamp[ns]", "1677-09-21 00:12:43.145224192"},
    {"utf8:1677-09-21 00:12:43.145224191", "timestamp[ns]", "BAD_DATA"},
    {"int64:300", "int8", "OVERFLOW: cast from int64 to int8: 300 does not fit"},
    {"int64:-1", "uint64", "OVERFLOW"},
    {"uint64:18446744073709551615", "int64", "OVERFLOW"},
    {"uint64:18446744073709551615", "decimal(20,0)", "18446744073709551615"},
    {"int64:9007199254740993", "float64", "9007199254740992"},
    {"float64:2.5", "int32", "2"},
    {"float64:3.5", "int32", "4"},
    {"float64:-0.4", "uint8", "0"},
    {"float64:NaN", "int32", "OVERFLOW: cast from float64 to int32: NaN does not fit"},
    {"float64:9223372036854775807", "int64", "OVERFLOW"},
    {"float64:-9223372036854775808", "int64", "-9223372036854775808"},
    {"float64:1e300", "float32", "OVERFLOW"},
    {"float64:Infinity", "float32", "Infinity"},
    {"float64:1.005", "decimal(5,1)", "1.0"},
    {"float64:1e40", "decimal(38,0)", "OVERFLOW"},
    {"decimal(5,2):2.50", "int32", "3"},
    {"decimal(5,2):-2.50", "int32", "-3"},
    {"decimal(5,2):2.50", "float64", "2.5"},
    {"decimal(5,2):2.55", "decimal(5,1)", "2.6"},
    {"decimal(5,2):123.45", "decimal(4,2)", "OVERFLOW"},
    {"int32:5", "bool", "true"},
    {"bool:true", "int8", "1"},
    {"bool:false", "utf8", "false"},
    {"date32:2013-01-01", "timestamp[us]", "2013-01-01 00:00:00"},
    {"date32:+2000000-01-01", "timestamp[ns]", "OVERFLOW"},
    {"timestamp[ms]:1969-12-31 23:59:59.999", "date32", "1969-12-31"},
    {"timestamp[ms]:1969-12-31 23:59:59.999", "timestamp[s]", "1969-12-31 23:59:59"},
    {"timestamp[ms]:2013-01-01 00:00:00", "timestamp[us, UTC]", "2013-01-01 00:00:00Z"},
    {"timestamp[s]:+200000-01-01", "timestamp[ns]", "OVERFLOW"},
    {"int32:null", "utf8", "null"},
};

Test(expr_functions, casts)
{
    for (size_t i = 0; i < sizeof casts / sizeof casts[0]; i++) {
        char text[600];
        b.spec.expr_count = 0;
        evaluate(build_cast(&b, make_argument(casts[i].from), casts[i].to, false), text,
                 sizeof text);
        const bool is_error =
            strncmp(casts[i].expected, "BAD", 3) == 0 || strncmp(casts[i].expected, "OVER", 4) == 0;
        const size_t compared = is_error ? strlen(casts[i].expected) : sizeof text;
        cr_expect(strncmp(text, casts[i].expected, compared) == 0, "%s to %s: got %s, wanted %s",
                  casts[i].from, casts[i].to, text, casts[i].expected);
        b.spec.expr_count = 0;
        evaluate(build_cast(&b, make_argument(casts[i].from), casts[i].to, true), text,
                 sizeof text);
        cr_expect_str_eq(text, is_error ? "null" : casts[i].expected);
    }
}

/* Goal: values that are equal have one hash, whatever their width; the order of the arguments
 * counts.
 */
Test(expr_functions, hash_of_equal_values)
{
    static const struct {
        const char *one[2], *other[2];
        bool same;
    } pairs[] = {
        {{"int8:-1", "utf8:a"}, {"int64:-1", "utf8:a"}, true},
        {{"uint32:7", "int8:7"}, {"int64:7", "uint16:7"}, true},
        {{"float64:0", "bool:true"}, {"float64:-0.0", "bool:true"}, true},
        {{"int8:1", "int8:2"}, {"int8:2", "int8:1"}, false},
        {{"int8:1", "utf8:null"}, {"int8:1", "utf8:"}, false},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        char one[600], other[600];
        b.spec.expr_count = 0;
        const uint32_t first[] = {make_argument(pairs[i].one[0]), make_argument(pairs[i].one[1])};
        evaluate(build_call(&b, "hash", 2, first), one, sizeof one);
        const uint32_t second[] = {make_argument(pairs[i].other[0]),
                                   make_argument(pairs[i].other[1])};
        evaluate(build_call(&b, "hash", 2, second), other, sizeof other);
        cr_expect_eq(strcmp(one, other) == 0, pairs[i].same, "%zu: %s, %s", i, one, other);
    }
}

Test(expr_functions, every_function_is_in_the_table)
{
    static const char *const names[] = {
#define FUNCTION(name, rule, variant, args_min, args_max, help) #name,
#include "expr/signatures.def"
    };
    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        bool found = false;
        for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
            found |= strcmp(calls[i].function, names[n]) == 0;
        }
        cr_assert(found, "%s", names[n]);
        cr_assert_not_null(function_find(names[n]));
    }
}

/* docs/functions.md is signatures.def in words. MORSEL_WRITE_DOCS=1 writes it anew. */
static void print_functions(FILE *file)
{
    static const struct {
        const char *name;
        int args_min, args_max;
        const char *help;
    } rows[] = {
#define FUNCTION(name, rule, variant, args_min, args_max, help) {#name, args_min, args_max, help},
#include "expr/signatures.def"
    };

    fprintf(file,
            "# Functions\n\n"
            "Every function a plan may call, made from `exec/expr/signatures.def`. A null argument "
            "gives null\nunless the text says otherwise.\n\n"
            "| function | arguments | what it gives |\n|---|---|---|\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fprintf(file, "| `%s` | %d%s | %s |\n", rows[i].name, rows[i].args_min,
                rows[i].args_max == 0                 ? " or more"
                : rows[i].args_max > rows[i].args_min ? " or one more"
                                                      : "",
                rows[i].help);
    }
}

Test(expr_functions, documentation_is_the_list)
{
    const char *path = MORSEL_SOURCE_DIR "/docs/functions.md";
    char *wanted;
    char *got;
    size_t wanted_bytes;
    FILE *memory = open_memstream(&wanted, &wanted_bytes);

    print_functions(memory);
    fclose(memory);
    if (getenv("MORSEL_WRITE_DOCS") != NULL) {
        FILE *file = fopen(path, "w");
        cr_assert_not_null(file);
        fwrite(wanted, 1, wanted_bytes, file);
        fclose(file);
    }
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    got = calloc(1, wanted_bytes + 2);
    cr_assert_eq(fread(got, 1, wanted_bytes + 1, file), wanted_bytes,
                 "docs/functions.md is not signatures.def: run this test with MORSEL_WRITE_DOCS=1");
    fclose(file);
    cr_assert_eq(memcmp(got, wanted, wanted_bytes), 0,
                 "docs/functions.md is not signatures.def: run this test with MORSEL_WRITE_DOCS=1");
    free(got);
    free(wanted);
}

/* Strings longer than a view holds, under a selection, keep their bytes; nulls give empty views. */
Test(expr_functions, null_texts_are_empty_views)
{
    const struct string_view views[] = {string_view_make("a text of 20 bytes..", 20), {0}};
    const uint64_t valid = 1;
    struct vec column = {.data = views, .valid = &valid, .kind = EXEC_TYPE_UTF8};
    const struct batch batch = {
        .row_count = 2, .sel_count = 2, .columns = &column, .column_count = 1};
    const struct exec_field field = {.name = "s", .type.kind = EXEC_TYPE_UTF8};
    const struct exec_schema schema = {&field, 1};
    const struct expr_scope scope = {{&schema, NULL}, 1};
    struct exec_error err;
    struct expr *expr;
    struct vec out;

    const uint32_t index = BUILD_CALL(&b, "upper", build_column(&b, "s"));
    cr_assert_eq(expr_bind(&fixture.arena, &b.spec, index, &scope, &expr, &err), EXEC_OK);
    cr_assert_eq(expr_eval(expr, &batch, &fixture.scratch, &out, &err), EXEC_OK);
    const struct string_view *got = out.data;
    cr_assert_eq(memcmp(string_view_bytes(&got[0]), "A TEXT OF 20 BYTES..", 20), 0);
    cr_assert(!vec_is_valid(&out, 1) && got[1].size == 0);
}
