#ifndef JSON_TIME_H
#define JSON_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* google.protobuf.Duration ("-1.5s") and Timestamp ("2013-01-01T05:00:00.25Z", RFC 3339) as texts.
 */
enum { JSON_TIME_TEXT_BYTES = 40 };

/* seconds and nanos have the same sign. At most 9 digits of a fraction, +-315,576,000,000 s. */
bool json_duration_parse(const char *text, int64_t *seconds_out, int32_t *nanos_out);
void json_duration_format(int64_t seconds, int32_t nanos, char text_out[JSON_TIME_TEXT_BYTES]);

/* Years 0001 to 9999, any offset; nanos 0..999,999,999. Written in UTC. */
bool json_timestamp_parse(const char *text, int64_t *seconds_out, int32_t *nanos_out);
void json_timestamp_format(int64_t seconds, int32_t nanos, char text_out[JSON_TIME_TEXT_BYTES]);

#endif
