/*
 * graph/protobuf.c: a look at a protobuf message before it is unpacked.
 *
 * protobuf-c recurses into messages within messages as deep as they go, so that a
 * file of some kilobytes could overflow the stack.  Anything else that is wrong
 * with a message is protobuf-c's to find.
 */
#include "graph/protobuf.h"

#define MAX_DEPTH 100 /* protobuf's own limit in other languages */

/* Read a number of seven bits a byte; the bytes it takes, 0 where it has no end. */
static size_t
read_varint(const uint8_t *data, size_t len, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < len && i < 10; i++)
	{
		*value |= (uint64_t) (data[i] & 127) << (7 * i);
		if (data[i] < 128)
			return i + 1;
	}
	return 0;
}

/* Go through a message's fields, and into those that are messages. */
static bool
is_shallow(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t len, int depth)
{
	if (depth > MAX_DEPTH)
		return false;
	while (len > 0)
	{
		uint64_t tag;
		uint64_t value;
		uint64_t size = 0;
		size_t n = read_varint(data, len, &tag);
		const ProtobufCFieldDescriptor *field;

		if (n == 0)
			return true;
		data += n;
		len -= n;
		switch (tag & 7)
		{
			case 0:
				size = read_varint(data, len, &value);
				break;
			case 1:
				size = 8;
				break;
			case 2:
				n = read_varint(data, len, &size);
				if (n == 0 || size > len - n)
					return true;
				data += n;
				len -= n;
				field = tag >> 3 > UINT32_MAX
				            ? NULL
				            : protobuf_c_message_descriptor_get_field(type, (unsigned) (tag >> 3));
				if (field != NULL && field->type == PROTOBUF_C_TYPE_MESSAGE &&
				    !is_shallow(field->descriptor, data, size, depth + 1))
					return false;
				break;
			case 5:
				size = 4;
				break;
		}
		if ((size == 0 && (tag & 7) != 2) || size > len)
			return true;
		data += size;
		len -= size;
	}
	return true;
}

/* Say whether messages lie within messages to a depth that is safe to recurse into. */
bool
nw_protobuf_is_shallow(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t len)
{
	return is_shallow(type, data, len, 0);
}
