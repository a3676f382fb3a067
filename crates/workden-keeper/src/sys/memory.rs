//! Memory that was needed once: what the allocator does with it, and the program itself.

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

/// Bytes that a page has at most, on any machine.
const LARGEST_PAGE: usize = 64 * 1024;

/// Forgets which pages of the program this process has used; they stay in the kernel's memory, and the
/// next use of one finds it there. For a process that waits now and needs few of them: at its end the
/// kernel would go through all, while somebody waits for that.
pub(crate) fn forget_used_pages() {
    unsafe extern "C" {
        // Where the linker put the beginning of the program, and the end of its code.
        static __executable_start: u8;
        static etext: u8;
    }
    // SAFETY: only the addresses of the two are taken. What is between them is mapped from the program's
    // file for reading or execution and never written, so that to forget a page changes nothing but when
    // it is looked up; where nothing is mapped, the call fails, which is as good.
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
