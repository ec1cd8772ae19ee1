#include "examples/decode_loop/decode_loop.h"

int main() { return example::RunDecodeLoop(); }
