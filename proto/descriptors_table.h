#ifndef DESCRIPTORS_TABLE_H
#define DESCRIPTORS_TABLE_H

#include "proto/descriptors.h"

/* What descriptors_main.c generates: tables sorted by name for a binary search. */
struct descriptors_symbol {
    const char *name;
    const struct descriptors_file *file;
};
extern const struct descriptors_file descriptors_files[];
extern const size_t descriptors_file_count;
extern const struct descriptors_symbol descriptors_symbols[];
extern const size_t descriptors_symbol_count;
extern const char *const descriptors_services[];
extern const size_t descriptors_service_count;

#endif
