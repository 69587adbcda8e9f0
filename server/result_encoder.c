#include "result_encoder.h"

#include <stdlib.h>

bool result_encoder_init(struct result_encoder *encoder)
{
    *encoder = (struct result_encoder){.hash = XXH3_createState()};
    return encoder->hash != NULL && XXH3_64bits_reset(encoder->hash) == XXH_OK;
}

void result_encoder_fini(struct result_encoder *encoder)
{
    XXH3_freeState(encoder->hash);
    free(encoder->schema_bytes);
    encoder->schema_bytes = NULL;
}

void result_encoder_schema(struct result_encoder *encoder, const struct exec_schema *schema)
{
    encoder->schema_bytes = arrow_write_schema(schema, &encoder->schema_size);
    if (encoder->schema_bytes == NULL) {
        encoder->no_memory = true;
        return;
    }
    XXH3_64bits_update(encoder->hash, encoder->schema_bytes, encoder->schema_size);
}

struct result_chunk *result_encoder_chunk(struct result_encoder *encoder, struct job_run *run,
                                          struct exec_chunk *chunk)
{
    struct result_chunk *result = calloc(1, sizeof *result);

    if (result == NULL || arrow_write_batch(chunk->columns, chunk->column_count, chunk->row_count,
                                            &result->message) != 0) {
        encoder->no_memory = true;
        free(result);
        return NULL;
    }
    result->run = run;
    result->chunk = chunk;
    for (uint32_t i = 0; i < result->message.piece_count; i++) {
        const struct arrow_piece *piece = &result->message.pieces[i];
        if (piece->size > 0) {
            XXH3_64bits_update(encoder->hash, piece->bytes, piece->size);
        }
    }
    encoder->chunk_count++;
    return result;
}

uint64_t result_encoder_finish(struct result_encoder *encoder)
{
    XXH3_64bits_update(encoder->hash, arrow_end_of_stream, ARROW_EOS_BYTES);
    return XXH3_64bits_digest(encoder->hash);
}

void result_chunk_destroy(struct result_chunk *chunk)
{
    exec_chunk_release(chunk->chunk);
    arrow_batch_message_fini(&chunk->message);
    free(chunk);
}
