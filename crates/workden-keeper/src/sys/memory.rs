//! Returns memory to the kernel: freed heap, and unused pages of the program.

/// Allocations from this size on are returned to the kernel when they are freed. The buffers of a connection are a
/// little smaller; returning those would cost a fault for every page.
#[cfg(target_env = "gnu")]
const GIVEN_BACK: libc::c_int = 256 * 1024;

/// Configures the allocator to return memory after a flood, and to use one heap for all threads. For the start of a
/// keeper.
pub(crate) fn give_memory_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: `mallopt` takes any numbers; these are documented parameters. A fixed threshold also stops it from
    // growing.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, GIVEN_BACK);
        libc::mallopt(libc::M_TRIM_THRESHOLD, GIVEN_BACK);
    }
}

/// The largest page size of any machine.
const LARGEST_PAGE: usize = 64 * 1024;

/// Unmaps the pages of the program that this process has used; they stay in the page cache, and the next use maps
/// them again. For a process that only waits from now on: at its exit the kernel would have to unmap all of them
/// while its parent waits.
pub(crate) fn forget_used_pages() {
    unsafe extern "C" {
        // The start of the program and the end of its code, as the linker defines them.
        static __executable_start: u8;
        static etext: u8;
    }
    // SAFETY: only the addresses of the two are taken. The range between them is mapped from the program's file for
    // reading or execution and never written, so dropping a page only delays its next use; where nothing is mapped,
    // the call fails without harm.
    unsafe {
        let (start, end) = ((&raw const __executable_start).addr(), (&raw const etext).addr());
        let (start, end) = (start.next_multiple_of(LARGEST_PAGE), end - end % LARGEST_PAGE);
        if start < end {
            libc::madvise(std::ptr::with_exposed_provenance_mut(start), end - start, libc::MADV_DONTNEED);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_files() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssFile:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    }

    #[test]
    fn a_program_goes_on_without_the_pages_that_it_has_used() {
        // Other tests of this process use pages meanwhile.
        let mut sizes = Vec::new();
        let given_up = (0..100).any(|_| {
            let before = of_files();
            forget_used_pages();
            sizes.push((before, of_files()));
            sizes.last().is_some_and(|(before, after)| after < before)
        });
        assert!(given_up, "kB before and after: {sizes:?}");
        assert_eq!(format!("{:?}", Some(vec![1, 2])), "Some([1, 2])");
    }
}
