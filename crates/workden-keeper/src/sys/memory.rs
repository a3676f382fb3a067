//! What the allocator does with memory that was needed once.

/// Bytes from which on memory is the kernel's again as soon as it is free. A connection reads into
/// buffers that are a little smaller; those would cost a fault for every page of every one.
#[cfg(target_env = "gnu")]
const GIVEN_BACK: libc::c_int = 256 * 1024;

/// Tells the allocator to give memory back after a flood, instead of keeping it for the next one,
/// and to keep one heap for all threads. For the beginning of a keeper.
pub(crate) fn give_memory_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: `mallopt` takes any numbers; these are parameters that it documents. Naming a
    // threshold also stops it from growing by itself.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, GIVEN_BACK);
        libc::mallopt(libc::M_TRIM_THRESHOLD, GIVEN_BACK);
    }
}
