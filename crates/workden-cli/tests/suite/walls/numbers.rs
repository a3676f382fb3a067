//! The numbers of system calls, for scripts that make them by name.

macro_rules! numbers {
    ($($name:ident = $number:ident),+ $(,)?) => {
        /// Every system call of the corpus, with its number.
        pub(crate) const NUMBERS: &[(&str, i64)] = &[$((stringify!($name), libc::$number)),+];
    };
}

numbers! {
    acct = SYS_acct, add_key = SYS_add_key, bpf = SYS_bpf, chroot = SYS_chroot,
    clock_settime = SYS_clock_settime, clone = SYS_clone, clone3 = SYS_clone3, delete_module = SYS_delete_module,
    fanotify_init = SYS_fanotify_init, finit_module = SYS_finit_module, fsopen = SYS_fsopen,
    init_module = SYS_init_module, io_setup = SYS_io_setup, io_uring_setup = SYS_io_uring_setup, ioctl = SYS_ioctl, ioperm = SYS_ioperm, iopl = SYS_iopl,
    kcmp = SYS_kcmp, kexec_file_load = SYS_kexec_file_load, kexec_load = SYS_kexec_load, keyctl = SYS_keyctl,
    mount = SYS_mount, mount_setattr = SYS_mount_setattr, move_mount = SYS_move_mount, move_pages = SYS_move_pages,
    name_to_handle_at = SYS_name_to_handle_at, open_by_handle_at = SYS_open_by_handle_at, open_tree = SYS_open_tree,
    perf_event_open = SYS_perf_event_open, pidfd_getfd = SYS_pidfd_getfd, pidfd_open = SYS_pidfd_open,
    pivot_root = SYS_pivot_root, prlimit64 = SYS_prlimit64, process_vm_readv = SYS_process_vm_readv,
    process_vm_writev = SYS_process_vm_writev, ptrace = SYS_ptrace, quotactl = SYS_quotactl, reboot = SYS_reboot,
    request_key = SYS_request_key, rt_sigqueueinfo = SYS_rt_sigqueueinfo, setgroups = SYS_setgroups, sethostname = SYS_sethostname,
    setns = SYS_setns, settimeofday = SYS_settimeofday, socket = SYS_socket,
    swapon = SYS_swapon, syslog = SYS_syslog, umount2 = SYS_umount2, unshare = SYS_unshare,
    pidfd_send_signal = SYS_pidfd_send_signal, fchownat = SYS_fchownat, inotify_init1 = SYS_inotify_init1, mq_open = SYS_mq_open, prctl = SYS_prctl,
    semget = SYS_semget, shmget = SYS_shmget, socketpair = SYS_socketpair,
    userfaultfd = SYS_userfaultfd, setpriority = SYS_setpriority, ioprio_set = SYS_ioprio_set,
    sched_setaffinity = SYS_sched_setaffinity,
}
