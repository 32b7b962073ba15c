// The privileges that the decoder and the encoder drop before they read a byte: a hostile file that
// takes one over finds a process that can only compute and write to its pipe.
#pragma once

namespace shoal::decode {

// What the process needs from now on.
enum class Needs {
  kOpenFile,   // nothing but the descriptors that it has: no file, socket, thread or program
  kWriteFile,  // likewise, and one of them may be a file that grows
  kNetwork,    // sockets, names, devices; no programs, and no other process's memory
};

// Limits on memory, descriptors and files, no new privileges, and a filter of system calls. False
// if the kernel has no such filters: hostile input should not be read then.
[[nodiscard]] bool enter_sandbox(Needs needs);

}  // namespace shoal::decode
