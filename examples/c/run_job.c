/* Runs a job file on a morseld server and prints the rows, with nothing but libmorsel:
 *
 *     cc run_job.c $(pkg-config --cflags --libs morsel) -o run_job
 *     ./run_job 127.0.0.1:7432 ../main_job.json
 *
 * pkg-config knows an installed libmorsel. From a build tree, in this folder:
 *
 *     cc -I../../client/include run_job.c -L../../build/release/lib -lmorsel \
 *        -Wl,-rpath,$PWD/../../build/release/lib -o run_job
 */
#include <morsel.h>
#include <stdio.h>
#include <stdlib.h>

static char *read_file(const char *path, size_t *size_out)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;

    if (file == NULL) {
        return NULL;
    }
    if (fseek(file, 0, SEEK_END) == 0) {
        const long size = ftell(file);
        rewind(file);
        text = size < 0 ? NULL : malloc((size_t)size + 1);
        *size_out = text == NULL ? 0 : fread(text, 1, (size_t)size, file);
    }
    fclose(file);
    return text;
}

static void print_batch(const struct morsel_batch *batch, uint32_t columns)
{
    char text[256];

    for (uint64_t row = 0; row < morsel_batch_rows(batch); row++) {
        for (uint32_t column = 0; column < columns; column++) {
            const int is_null = morsel_batch_is_null(batch, column, row);
            morsel_batch_text(batch, column, row, text, sizeof text);
            printf("%s%s", column == 0 ? "" : "\t", is_null ? "NULL" : text);
        }
        printf("\n");
    }
}

static int print_result(struct morsel_result *result, struct morsel_error *error)
{
    const uint32_t columns = morsel_result_column_count(result);
    struct morsel_batch *batch = NULL;
    int got;

    for (uint32_t column = 0; column < columns; column++) {
        printf("%s%s", column == 0 ? "" : "\t", morsel_result_column(result, column).name);
    }
    printf("\n");
    while ((got = morsel_result_next(result, &batch, error)) == 1) {
        print_batch(batch, columns);
        morsel_batch_free(batch);
    }
    return got; /* 0: the result is whole */
}

int main(int argc, char **argv)
{
    struct morsel_connection *connection = NULL;
    struct morsel_result *result = NULL;
    struct morsel_error error = {0};
    size_t size = 0;
    int failed = -1;

    if (argc != 3) {
        fprintf(stderr, "usage: %s HOST:PORT JOB.json\n", argv[0]);
        return 2;
    }
    char *text = read_file(argv[2], &size);
    if (text == NULL) {
        perror(argv[2]);
        return 2;
    }
    if (morsel_connect(argv[1], 0, &connection, &error) == 0) {
        const struct morsel_run_options options = {.timeout_ms = 60000};
        if (morsel_run_json(connection, text, size, argv[2], &options, &result, &error) == 0) {
            failed = print_result(result, &error);
        }
        morsel_result_close(result);
    }
    morsel_close(connection);
    free(text);
    if (failed != 0) {
        fprintf(stderr, "%s: %s%s\n", error.code_name, error.message,
                error.retryable ? " (try again later)" : "");
        return 1;
    }
    return 0;
}
