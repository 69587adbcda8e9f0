/* Goal:   reflection finds every file and symbol, and what it hands out is the file itself.
 * Method: look symbols up, unpack the name from the bytes, walk the dependencies. */
#include "proto/descriptors.h"

#include <criterion/criterion.h>
#include <string.h>

Test(descriptors, symbols_lead_to_their_files)
{
    static const struct {
        const char *symbol;
        const char *file;
    } rows[] = {
        {"morsel.v1.JobService", "morsel/v1/job_service.proto"},
        {"morsel.v1.TableService.UploadTable", "morsel/v1/job_service.proto"},
        {".morsel.v1.Plan", "morsel/v1/plan.proto"},
        {"morsel.v1.Plan.rels", "morsel/v1/plan.proto"},
        {"morsel.v1.JobOptions.LabelsEntry", "morsel/v1/job_service.proto"},
        {"morsel.v1.TypeKind", "morsel/v1/types.proto"},
        {"grpc.health.v1.Health", "grpc/health/v1/health.proto"},
        {"grpc.health.v1.HealthCheckResponse.ServingStatus", "grpc/health/v1/health.proto"},
        {"grpc.reflection.v1.ServerReflection", "grpc/reflection/v1/reflection.proto"},
        {"grpc.reflection.v1alpha.ServerReflection", "grpc/reflection/v1alpha/reflection.proto"},
        {"google.protobuf.Duration", "google/protobuf/duration.proto"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct descriptors_file *file = descriptors_file_by_symbol(rows[i].symbol);
        cr_assert_not_null(file, "%s", rows[i].symbol);
        cr_assert_str_eq(file->name, rows[i].file);
        cr_assert_eq(descriptors_file_by_name(rows[i].file), file);
    }
    cr_assert_null(descriptors_file_by_symbol("morsel.v1.Nothing"));
    cr_assert_null(descriptors_file_by_symbol(""));
    cr_assert_null(descriptors_file_by_name("nothing.proto"));
}

/* FileDescriptorProto.name is field 1. */
Test(descriptors, bytes_begin_with_the_name)
{
    const struct descriptors_file *file = descriptors_file_by_name("morsel/v1/plan.proto");

    cr_assert_not_null(file);
    cr_assert_eq(file->bytes[0], 0x0A);
    cr_assert_eq(file->bytes[1], strlen(file->name));
    cr_assert_arr_eq((const char *)file->bytes + 2, file->name, strlen(file->name));
}

Test(descriptors, dependencies_come_before_their_users)
{
    const struct descriptors_file *file = descriptors_file_by_name("morsel/v1/job_service.proto");
    size_t plan = SIZE_MAX, types = SIZE_MAX;

    cr_assert_eq(file->dependency_count, 5); /* any, duration, timestamp, plan, types */
    for (size_t i = 0; i < file->dependency_count; i++) {
        plan = strcmp(file->dependencies[i]->name, "morsel/v1/plan.proto") == 0 ? i : plan;
        types = strcmp(file->dependencies[i]->name, "morsel/v1/types.proto") == 0 ? i : types;
    }
    cr_assert_lt(types, plan);
    cr_assert_lt(plan, file->dependency_count);
}

Test(descriptors, services_are_listed)
{
    static const char *const names[] = {
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "grpc.reflection.v1alpha.ServerReflection",
        "morsel.v1.JobService",
        "morsel.v1.TableService",
    };
    for (size_t i = 0; i < 5; i++) {
        cr_assert_str_eq(descriptors_service(i), names[i]);
    }
    cr_assert_null(descriptors_service(5));
}
