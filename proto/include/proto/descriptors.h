#ifndef PROTO_DESCRIPTORS_H
#define PROTO_DESCRIPTORS_H

#include <stddef.h>
#include <stdint.h>

/* The served .proto files as serialized google.protobuf.FileDescriptorProto, embedded and indexed
 * at build time: what the reflection service hands out. Everything is in static storage; any
 * thread. */
struct descriptors_file {
    const char *name; /* "morsel/v1/plan.proto" */
    const uint8_t *bytes;
    size_t size;
    /* Every file it needs, directly or not, each once and before its users; itself not among them.
     */
    const struct descriptors_file *const *dependencies;
    size_t dependency_count;
};

/* NULL: no such file. */
const struct descriptors_file *descriptors_file_by_name(const char *name);

/* The file that defines a service, a method ("morsel.v1.JobService.ExecuteJob"), a message, a field
 * of one, or an enum, by its full name; a leading dot is fine. NULL: no such symbol. */
const struct descriptors_file *descriptors_file_by_symbol(const char *symbol);

/* Full names of the services, sorted. NULL past the end. */
const char *descriptors_service(size_t at);

#endif
