// What the decoder and the encoder give up before they read a byte: a hostile file that takes one
// over finds a process that can compute and write to its pipe.
#pragma once

namespace shoal::decode {

// What the process needs from now on.
enum class Needs {
  kOpenFile,   // nothing but the descriptors that it has: no file, socket, thread or program
  kWriteFile,  // the same, one of which may be a file that grows
  kNetwork,    // sockets, names, devices; no program, and nobody else's memory
};

// Limits on memory, descriptors and files, no new privileges, and a filter of system calls. False
// if the kernel has no such filters: then nothing hostile should be read.
[[nodiscard]] bool enter_sandbox(Needs needs);

}  // namespace shoal::decode
