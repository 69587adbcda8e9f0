/* Build-time program: a FileDescriptorSet in, the C tables of descriptors_table.h out.
 *   morsel_descriptors FILES.protoset > descriptors_table.c */
#include "google/protobuf/descriptor.pb-c.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SET_BYTES_MAX = 4 << 20, SYMBOLS_MAX = 8192, NAME_BYTES = 512, FILES_MAX = 256 };

struct symbol {
    char name[NAME_BYTES];
    size_t file;
    bool is_service;
};

static struct symbol symbols[SYMBOLS_MAX];
static size_t symbol_count;
static Google__Protobuf__FileDescriptorProto *files[FILES_MAX];
static size_t file_count;

static void fail(const char *what)
{
    fprintf(stderr, "morsel_descriptors: %s\n", what);
    exit(1); /* NOLINT(concurrency-mt-unsafe): one thread */
}

static const char *symbol_add(size_t file, const char *scope, const char *name, bool is_service)
{
    struct symbol *symbol = &symbols[symbol_count++];

    if (symbol_count == SYMBOLS_MAX) {
        fail("too many symbols");
    }
    symbol->file = file;
    symbol->is_service = is_service;
    const int size =
        snprintf(symbol->name, NAME_BYTES, "%s%s%s", scope, scope[0] == '\0' ? "" : ".", name);
    if (size >= NAME_BYTES) {
        fail("a name is too long");
    }
    return symbol->name;
}

/* Nesting in our own files is shallow; the input is what protoc made of them. */
static void message_add(size_t file, const char *scope,
                        const Google__Protobuf__DescriptorProto *message)
{
    const char *name = symbol_add(file, scope, message->name, false);

    for (size_t i = 0; i < message->n_field; i++) {
        symbol_add(file, name, message->field[i]->name, false);
    }
    for (size_t i = 0; i < message->n_enum_type; i++) {
        symbol_add(file, name, message->enum_type[i]->name, false);
    }
    for (size_t i = 0; i < message->n_nested_type; i++) {
        message_add(file, name, message->nested_type[i]);
    }
}

static void file_add(size_t at)
{
    const Google__Protobuf__FileDescriptorProto *file = files[at];
    const char *scope = file->package == NULL ? "" : file->package;

    for (size_t i = 0; i < file->n_message_type; i++) {
        message_add(at, scope, file->message_type[i]);
    }
    for (size_t i = 0; i < file->n_enum_type; i++) {
        symbol_add(at, scope, file->enum_type[i]->name, false);
    }
    for (size_t i = 0; i < file->n_service; i++) {
        const Google__Protobuf__ServiceDescriptorProto *service = file->service[i];
        const char *name = symbol_add(at, scope, service->name, true);
        for (size_t method = 0; method < service->n_method; method++) {
            symbol_add(at, name, service->method[method]->name, false);
        }
    }
}

static int file_compare(const void *a, const void *b)
{
    const Google__Protobuf__FileDescriptorProto *const *file_a = a, *const *file_b = b;
    return strcmp((*file_a)->name, (*file_b)->name);
}

static int symbol_compare(const void *a, const void *b)
{
    return strcmp(((const struct symbol *)a)->name, ((const struct symbol *)b)->name);
}

static size_t file_find(const char *name)
{
    for (size_t i = 0; i < file_count; i++) {
        if (strcmp(files[i]->name, name) == 0) {
            return i;
        }
    }
    fail("an imported file is missing from the set");
    return 0;
}

/* Imports first; protoc refuses cycles. */
static void dependencies_print(size_t at, bool seen[FILES_MAX], size_t *count)
{
    for (size_t i = 0; i < files[at]->n_dependency; i++) {
        const size_t import = file_find(files[at]->dependency[i]);
        if (!seen[import]) {
            seen[import] = true;
            dependencies_print(import, seen, count);
            printf(" &descriptors_files[%zu],", import);
            ++*count;
        }
    }
}

static void bytes_print(size_t at, const uint8_t *bytes, size_t size)
{
    printf("static const uint8_t file_%zu[] = {", at);
    for (size_t i = 0; i < size; i++) {
        printf("%s%u,", i % 24 == 0 ? "\n" : "", bytes[i]);
    }
    printf("};\n");
}

static void files_print(void)
{
    size_t sizes[FILES_MAX], counts[FILES_MAX] = {0};

    for (size_t i = 0; i < file_count; i++) {
        sizes[i] = google__protobuf__file_descriptor_proto__get_packed_size(files[i]);
        uint8_t *bytes = malloc(sizes[i] + 1);
        if (bytes == NULL) {
            fail("no memory");
        }
        google__protobuf__file_descriptor_proto__pack(files[i], bytes);
        bytes_print(i, bytes, sizes[i]);
        free(bytes);
        bool seen[FILES_MAX] = {false};
        printf("static const struct descriptors_file *const needs_%zu[] = {", i);
        dependencies_print(i, seen, &counts[i]);
        printf(" NULL};\n");
    }
    printf("const size_t descriptors_file_count = %zu;\n", file_count);
    printf("const struct descriptors_file descriptors_files[] = {\n");
    for (size_t i = 0; i < file_count; i++) {
        printf("    {\"%s\", file_%zu, %zu, needs_%zu, %zu},\n", files[i]->name, i, sizes[i], i,
               counts[i]);
    }
    printf("};\n");
}

static void symbols_print(void)
{
    size_t services = 0;

    printf("const size_t descriptors_symbol_count = %zu;\n", symbol_count);
    printf("const struct descriptors_symbol descriptors_symbols[] = {\n");
    for (size_t i = 0; i < symbol_count; i++) {
        printf("    {\"%s\", &descriptors_files[%zu]},\n", symbols[i].name, symbols[i].file);
    }
    printf("};\nconst char *const descriptors_services[] = {\n");
    for (size_t i = 0; i < symbol_count; i++) {
        if (symbols[i].is_service) {
            printf("    \"%s\",\n", symbols[i].name);
            services++;
        }
    }
    printf("};\nconst size_t descriptors_service_count = %zu;\n", services);
}

static Google__Protobuf__FileDescriptorSet *set_read(const char *path)
{
    uint8_t *bytes = malloc(SET_BYTES_MAX);
    FILE *file = fopen(path, "rb");
    Google__Protobuf__FileDescriptorSet *set;

    if (file == NULL || bytes == NULL) {
        fail("the set cannot be read");
        return NULL;
    }
    const size_t size = fread(bytes, 1, SET_BYTES_MAX, file);
    fclose(file);
    set = google__protobuf__file_descriptor_set__unpack(NULL, size, bytes);
    free(bytes);
    if (set == NULL || set->n_file > FILES_MAX) {
        fail("the set cannot be unpacked");
    }
    return set;
}

int main(int argc, char **argv)
{
    Google__Protobuf__FileDescriptorSet *set;

    if (argc != 2) {
        fail("usage: morsel_descriptors FILES.protoset");
        return 1;
    }
    set = set_read(argv[1]);
    file_count = set->n_file;
    memcpy(files, set->file, file_count * sizeof(files[0]));
    qsort(files, file_count, sizeof(files[0]), file_compare);
    for (size_t i = 0; i < file_count; i++) {
        file_add(i);
    }
    qsort(symbols, symbol_count, sizeof symbols[0], symbol_compare);
    printf("/* Generated by morsel_descriptors. */\n#include \"descriptors_table.h\"\n");
    files_print();
    symbols_print();
    google__protobuf__file_descriptor_set__free_unpacked(set, NULL);
    return 0;
}
