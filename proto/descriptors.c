#include "proto/descriptors.h"

#include "descriptors_table.h"

#include <stdlib.h>
#include <string.h>

static int file_compare(const void *name, const void *file)
{
    return strcmp(name, ((const struct descriptors_file *)file)->name);
}

static int symbol_compare(const void *name, const void *symbol)
{
    return strcmp(name, ((const struct descriptors_symbol *)symbol)->name);
}

const struct descriptors_file *descriptors_file_by_name(const char *name)
{
    return bsearch(name, descriptors_files, descriptors_file_count, sizeof descriptors_files[0],
                   file_compare);
}

const struct descriptors_file *descriptors_file_by_symbol(const char *symbol)
{
    const struct descriptors_symbol *found;

    symbol += symbol[0] == '.';
    found = bsearch(symbol, descriptors_symbols, descriptors_symbol_count,
                    sizeof descriptors_symbols[0], symbol_compare);
    return found == NULL ? NULL : found->file;
}

const char *descriptors_service(size_t at)
{
    return at < descriptors_service_count ? descriptors_services[at] : NULL;
}
