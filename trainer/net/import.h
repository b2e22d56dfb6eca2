/*
 * net/import.h: an ONNX file's nodes, brought into a graph one by one.
 */
#ifndef NW_IMPORT_H
#define NW_IMPORT_H

#include "net/import_node.h"
#include "onnx.pb-c.h"

void nw_import_check(const char *path, const Onnx__ModelProto *file);
void nw_import_node(NwImport *im);

#endif
