#include "sandbox.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cstddef>
#include <ctime>
#include <span>
#include <vector>

namespace shoal::decode {
namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr unsigned kArchitecture = 0;
#endif
#ifdef SHOAL_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// What decoding an open file takes: memory, its descriptors, the end.
constexpr unsigned kAllowed[] = {
    __NR_read,
    __NR_pread64,
    __NR_write,
    __NR_writev,
    __NR_lseek,
    __NR_fstat,
    __NR_newfstatat,
    __NR_close,
    __NR_mmap,
    __NR_munmap,
    __NR_mremap,
    __NR_mprotect,
    __NR_madvise,
    __NR_brk,
    __NR_futex,
    __NR_clock_gettime,
    __NR_gettimeofday,
    __NR_getrandom,
    __NR_getpid,
    __NR_gettid,
    __NR_tgkill,
    __NR_rt_sigaction,
    __NR_rt_sigprocmask,
    __NR_rt_sigreturn,
    __NR_exit,
    __NR_exit_group,
    __NR_sched_getaffinity,
    __NR_nanosleep,
    __NR_clock_nanosleep,
    __NR_restart_syscall,
};

// What no reader of a stream needs.
constexpr unsigned kDenied[] = {
#ifdef __NR_fork
    __NR_fork,
    __NR_vfork,
#endif
    __NR_execve,
    __NR_execveat,
    __NR_ptrace,
    __NR_process_vm_readv,
    __NR_process_vm_writev,
    __NR_mount,
    __NR_umount2,
    __NR_pivot_root,
    __NR_chroot,
    __NR_unshare,
    __NR_setns,
    __NR_bpf,
    __NR_perf_event_open,
    __NR_userfaultfd,
    __NR_keyctl,
    __NR_add_key,
    __NR_request_key,
    __NR_init_module,
    __NR_finit_module,
    __NR_delete_module,
    __NR_kexec_load,
    __NR_kill,
    __NR_io_uring_setup,
    __NR_open_by_handle_at,
};

constexpr sock_filter statement(unsigned short code, unsigned k) { return {code, 0, 0, k}; }
constexpr sock_filter jump(unsigned k, unsigned char yes, unsigned char no) {
  return {BPF_JMP | BPF_JEQ | BPF_K, yes, no, k};
}

// A filter that does `listed` for these calls, and `others` for the rest.
std::vector<sock_filter> filter_of(std::span<const unsigned> calls, unsigned listed,
                                   unsigned others) {
  std::vector<sock_filter> code = {
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      jump(kArchitecture, 1, 0),
      statement(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const unsigned call : calls) {
    code.push_back(jump(call, 0, 1));
    code.push_back(statement(BPF_RET | BPF_K, listed));
  }
  code.push_back(statement(BPF_RET | BPF_K, others));
  return code;
}

void limit(__rlimit_resource what, rlim_t most) {
  const rlimit both{most, most};
  ::setrlimit(what, &both);
}

}  // namespace

bool enter_sandbox(Needs needs) {
  ::tzset();  // opens a file the first time a date is computed
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  limit(RLIMIT_CORE, 0);
  if (needs != Needs::kWriteFile) limit(RLIMIT_FSIZE, 0);  // no file; pipes have no size
  limit(RLIMIT_NOFILE, 64);
  if (kSanitized) return true;  // a sanitizer maps terabytes, and makes other system calls
  limit(RLIMIT_AS, rlim_t{2} << 30);
  if (kArchitecture == 0) return false;
  constexpr unsigned kFail = SECCOMP_RET_ERRNO | 1;  // EPERM
  // With an open file, a call that is not listed ends the process: FFmpeg makes none of them.
  std::vector<sock_filter> code =
      needs == Needs::kNetwork ? filter_of(kDenied, kFail, SECCOMP_RET_ALLOW)
                               : filter_of(kAllowed, SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

}  // namespace shoal::decode
