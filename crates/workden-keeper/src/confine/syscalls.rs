//! The tables of system calls: those that programs need, and those that are refused. A call in neither table answers
//! that it does not exist. That includes the old asynchronous I/O, whose resources are limited per machine: programs
//! work without it, but fail when another program has used it up.

/// The numbers of these calls on this architecture.
macro_rules! calls {
    ($($name:ident)*) => { &[$(libc::$name),*] };
}

/// The calls that programs need, by group.
pub(super) const NEEDED: [&[libc::c_long]; 10] =
    [FILES, &[FCHMODAT2], MEMORY, PROCESSES, SIGNALS, TIME, WAITING, NETWORK, MESSAGES, OF_OLD];

/// `fchmodat2`, which has the same number on every architecture; not every `libc` names it.
pub(super) const FCHMODAT2: libc::c_long = 452;

const FILES: &[libc::c_long] = calls! {
    SYS_read SYS_write SYS_pread64 SYS_pwrite64 SYS_readv SYS_writev SYS_preadv SYS_pwritev SYS_preadv2 SYS_pwritev2
    SYS_openat SYS_openat2 SYS_close SYS_close_range SYS_lseek SYS_dup SYS_dup3 SYS_fcntl SYS_flock SYS_ioctl
    SYS_fstat SYS_newfstatat SYS_statx SYS_statfs SYS_fstatfs SYS_faccessat SYS_faccessat2 SYS_readlinkat
    SYS_getdents64 SYS_getcwd SYS_chdir SYS_fchdir SYS_mkdirat SYS_mknodat SYS_unlinkat SYS_renameat SYS_renameat2
    SYS_linkat SYS_symlinkat SYS_fchmod SYS_fchmodat SYS_fchown SYS_fchownat SYS_utimensat SYS_umask
    SYS_truncate SYS_ftruncate SYS_fallocate SYS_fsync SYS_fdatasync SYS_sync SYS_syncfs SYS_sync_file_range
    SYS_fadvise64 SYS_readahead SYS_sendfile SYS_splice SYS_tee SYS_vmsplice SYS_copy_file_range
    SYS_setxattr SYS_lsetxattr SYS_fsetxattr SYS_getxattr SYS_lgetxattr SYS_fgetxattr
    SYS_listxattr SYS_llistxattr SYS_flistxattr SYS_removexattr SYS_lremovexattr SYS_fremovexattr
    SYS_inotify_init1 SYS_inotify_add_watch SYS_inotify_rm_watch
};

const MEMORY: &[libc::c_long] = calls! {
    SYS_brk SYS_mmap SYS_munmap SYS_mremap SYS_mprotect SYS_madvise SYS_mincore SYS_msync SYS_remap_file_pages
    SYS_mlock SYS_mlock2 SYS_munlock SYS_mlockall SYS_munlockall SYS_mseal SYS_memfd_create
    SYS_pkey_alloc SYS_pkey_free SYS_pkey_mprotect SYS_get_mempolicy SYS_set_mempolicy SYS_mbind SYS_membarrier
};

const PROCESSES: &[libc::c_long] = calls! {
    SYS_clone SYS_clone3 SYS_execve SYS_execveat SYS_exit SYS_exit_group SYS_wait4 SYS_waitid
    SYS_getpid SYS_getppid SYS_gettid SYS_getpgid SYS_setpgid SYS_getsid SYS_setsid
    SYS_getuid SYS_geteuid SYS_getgid SYS_getegid SYS_getresuid SYS_getresgid SYS_getgroups
    SYS_setuid SYS_setgid SYS_setreuid SYS_setregid SYS_setresuid SYS_setresgid SYS_setfsuid SYS_setfsgid SYS_setgroups
    SYS_capget SYS_capset SYS_prctl SYS_personality SYS_seccomp
    SYS_landlock_create_ruleset SYS_landlock_add_rule SYS_landlock_restrict_self
    SYS_getrlimit SYS_setrlimit SYS_prlimit64 SYS_getrusage SYS_times SYS_getpriority SYS_setpriority
    SYS_ioprio_get SYS_ioprio_set SYS_sched_yield SYS_sched_getaffinity SYS_sched_setaffinity
    SYS_sched_getparam SYS_sched_setparam SYS_sched_getscheduler SYS_sched_setscheduler SYS_sched_getattr
    SYS_sched_setattr SYS_sched_get_priority_max SYS_sched_get_priority_min SYS_sched_rr_get_interval
    SYS_set_tid_address SYS_set_robust_list SYS_get_robust_list SYS_rseq SYS_restart_syscall
    SYS_uname SYS_sysinfo SYS_getcpu SYS_getrandom SYS_pidfd_open
};

const SIGNALS: &[libc::c_long] = calls! {
    SYS_kill SYS_tkill SYS_tgkill SYS_pidfd_send_signal SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn
    SYS_rt_sigsuspend SYS_rt_sigpending SYS_rt_sigtimedwait SYS_rt_sigqueueinfo SYS_rt_tgsigqueueinfo
    SYS_sigaltstack SYS_signalfd4
};

const TIME: &[libc::c_long] = calls! {
    SYS_clock_gettime SYS_clock_getres SYS_clock_nanosleep SYS_nanosleep SYS_gettimeofday
    SYS_getitimer SYS_setitimer SYS_timer_create SYS_timer_settime SYS_timer_gettime SYS_timer_getoverrun
    SYS_timer_delete SYS_timerfd_create SYS_timerfd_settime SYS_timerfd_gettime
};

const WAITING: &[libc::c_long] = calls! {
    SYS_ppoll SYS_pselect6 SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait SYS_epoll_pwait2 SYS_eventfd2 SYS_pipe2
    SYS_futex SYS_futex_waitv
};

const NETWORK: &[libc::c_long] = calls! {
    SYS_socket SYS_socketpair SYS_bind SYS_listen SYS_accept SYS_accept4 SYS_connect SYS_shutdown
    SYS_getsockname SYS_getpeername SYS_getsockopt SYS_setsockopt
    SYS_sendto SYS_recvfrom SYS_sendmsg SYS_recvmsg SYS_sendmmsg SYS_recvmmsg
};

pub(super) const MESSAGES: &[libc::c_long] = calls! {
    SYS_shmget SYS_shmat SYS_shmctl SYS_shmdt SYS_semget SYS_semop SYS_semtimedop SYS_semctl
    SYS_msgget SYS_msgsnd SYS_msgrcv SYS_msgctl
    SYS_mq_open SYS_mq_unlink SYS_mq_timedsend SYS_mq_timedreceive SYS_mq_notify SYS_mq_getsetattr
};

/// Calls that newer architectures replace by others.
#[cfg(target_arch = "x86_64")]
const OF_OLD: &[libc::c_long] = calls! {
    SYS_open SYS_creat SYS_stat SYS_lstat SYS_access SYS_readlink SYS_getdents SYS_mkdir SYS_rmdir SYS_mknod
    SYS_unlink SYS_rename SYS_link SYS_symlink SYS_chmod SYS_chown SYS_lchown SYS_utime SYS_utimes SYS_futimesat
    SYS_dup2 SYS_pipe SYS_poll SYS_select SYS_epoll_create SYS_epoll_wait SYS_inotify_init SYS_eventfd SYS_signalfd
    SYS_fork SYS_vfork SYS_alarm SYS_pause SYS_getpgrp SYS_time SYS_arch_prctl
};
#[cfg(not(target_arch = "x86_64"))]
const OF_OLD: &[libc::c_long] = &[];

/// The calls that are refused: ways to other namespaces and mounts, into the kernel, into other processes, to devices
/// and clocks, and around path checks. The answer is "not permitted".
pub(super) const REFUSED: [&[libc::c_long]; 2] = [EVERYWHERE_REFUSED, REFUSED_OF_OLD];

const EVERYWHERE_REFUSED: &[libc::c_long] = calls! {
    SYS_unshare SYS_setns SYS_mount SYS_umount2 SYS_pivot_root SYS_chroot SYS_move_mount SYS_open_tree SYS_fsopen
    SYS_fsconfig SYS_fsmount SYS_fspick SYS_mount_setattr
    SYS_bpf SYS_keyctl SYS_add_key SYS_request_key SYS_perf_event_open SYS_userfaultfd
    SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register
    SYS_kexec_load SYS_init_module SYS_finit_module SYS_delete_module SYS_reboot SYS_swapon SYS_swapoff SYS_acct
    SYS_quotactl SYS_quotactl_fd SYS_syslog SYS_vhangup SYS_sethostname SYS_setdomainname
    SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev SYS_process_madvise SYS_pidfd_getfd SYS_kcmp
    SYS_move_pages SYS_migrate_pages
    SYS_settimeofday SYS_clock_settime SYS_clock_adjtime SYS_adjtimex
    SYS_name_to_handle_at SYS_open_by_handle_at SYS_lookup_dcookie SYS_fanotify_init SYS_fanotify_mark
};

#[cfg(target_arch = "x86_64")]
const REFUSED_OF_OLD: &[libc::c_long] = calls! { SYS_iopl SYS_ioperm SYS_modify_ldt SYS_kexec_file_load SYS_uselib };
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_OF_OLD: &[libc::c_long] = &[];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_both_needed_and_refused_and_none_is_named_twice() {
        let mut all: Vec<libc::c_long> = NEEDED.into_iter().chain(REFUSED).flatten().copied().collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
    }
}
