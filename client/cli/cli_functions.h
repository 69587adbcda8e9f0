#ifndef CLIENT_CLI_CLI_FUNCTIONS_H
#define CLIENT_CLI_CLI_FUNCTIONS_H

#include <stdio.h>

/* Operators, aggregates, functions and types, one line each or a list. */
void cli_functions_print(FILE *to);

#endif
