// fields.h — the parts of fr_api_parse and fr_api_encode. Private to src/api.
#ifndef FR_API_FIELDS_H
#define FR_API_FIELDS_H
#include "api/request.h"

fr_status fr_api_read_fields(fr_api_request *r, fr_error *err);   // plain fields  [fields.c]
fr_status fr_api_read_settings(fr_api_request *r, fr_error *err); // other fields  [settings.c]
fr_status fr_api_read_tools(fr_api_request *r, fr_error *err);    // tools  [tool_choice.c]
// Turns off samplers that the body's list of samplers leaves out. After the plain fields.
// [samplers.c]
fr_status fr_api_read_samplers(fr_api_request *r, fr_error *err);
// FR_EARG: a field requests something that is not supported.  [refused.c]
fr_status fr_api_refuse(const fr_api_request *r, fr_error *err);
fr_status fr_api_read_bias(fr_api_request *r, const fr_api_model *model, fr_error *err); // [bias.c]
fr_status fr_api_read_stop_tokens(fr_api_request *r, const fr_api_model *model,
                                  fr_error *err); // [stop_tokens.c]
// Appends the text of a checked message (fr_api_fit_names), with `between` between its parts.
// FR_ENOMEM.  [messages.c]
fr_status fr_api_add_content(fr_buffer *text, const json_t *message, const char *between,
                             fr_error *err);

#endif
