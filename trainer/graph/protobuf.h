/*
 * graph/protobuf.h: a look at a protobuf message before it is unpacked.
 */
#ifndef NW_PROTOBUF_H
#define NW_PROTOBUF_H

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

bool nw_protobuf_is_shallow(const ProtobufCMessageDescriptor *type, const uint8_t *data,
                            size_t len);

#endif
