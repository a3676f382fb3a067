//! The largest file that may be read or written, whatever the call.

use bytes::Bytes;

use super::*;

fn stream(pieces: &[&'static str]) -> Content {
    struct Pieces(std::collections::VecDeque<&'static str>);
    impl futures_core::Stream for Pieces {
        type Item = Result<Bytes>;
        fn poll_next(
            mut self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Self::Item>> {
            std::task::Poll::Ready(self.0.pop_front().map(|piece| Ok(Bytes::from(piece))))
        }
    }
    Content::Stream(Box::pin(Pieces(pieces.iter().copied().collect())))
}

#[test]
fn ceilings_hold_for_every_way_in() {
    let files = state();
    let most = |read, write| {
        Guarded::new(files.clone()).gate(Arc::new(Most { read: 100, write: 100 })).gate(Arc::new(Most { read, write }))
    };
    let five = Resolved::literal(path("/d/x"));
    let new = Resolved::literal(path("/new"));
    let tiny = Resolved::literal(path("/tiny/x"));
    let grow = Change::Replace(vec![Replacement::once("1", "11")]);
    let tree = (Resolved::literal(path("/d")), Resolved::literal(path("/tiny/d")));
    let before = all(&files);
    block_on(async {
        let whole = ByteRange::whole();
        let part = ByteRange::Part { offset: 0, length: 1 };
        let window = TextWindow::lines(0, 1);
        let any = Expect::Anything;
        let (reads, writes) = (most(4, 100), most(100, 4));
        for (what, told, size, limit) in [
            ("read", reads.read(&five, whole).await.map(drop), 5, 4),
            ("read a part", reads.read(&five, part).await.map(drop), 5, 4),
            ("open", reads.open(&five, u64::MAX).await.map(drop), 5, 4),
            ("read text", reads.read_text(&five, window).await.map(drop), 5, 4),
            ("edit what is too large", reads.change(&five, &grow, any, 100).await.map(drop), 5, 4),
            ("copy from", reads.copy(&five, &new, IfExists::Refuse).await.map(drop), 5, 4),
            ("move from", reads.rename(&five, &new, IfExists::Refuse).await, 5, 4),
            ("write", writes.write(&new, "12345".into(), any).await.map(drop), 5, 4),
            ("write over", writes.write(&five, "54321".into(), any).await.map(drop), 5, 4),
            ("write in pieces", writes.write(&new, stream(&["123", "45", "6"]), any).await.map(drop), 5, 4),
            ("edit to more", most(5, 5).change(&five, &grow, any, 100).await.map(drop), 6, 5),
            ("edit to more than asked for", most(9, 9).change(&five, &grow, any, 5).await.map(drop), 6, 5),
            ("copy to", writes.copy(&five, &new, IfExists::Refuse).await.map(drop), 5, 4),
            ("move to", writes.rename(&five, &new, IfExists::Refuse).await, 5, 4),
            ("move to where less is allowed", most(100, 100).rename(&five, &tiny, IfExists::Refuse).await, 5, 1),
            ("move a tree", most(100, 100).rename(&tree.0, &tree.1, IfExists::Refuse).await, 10, 1),
        ] {
            let error = told.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TooLarge, "{what}: {error}");
            let Some(Refusal::TooLarge { size: told_size, limit: told_limit, .. }) = error.refusal() else {
                unreachable!("{what}: {error:?}")
            };
            assert_eq!((*told_size, *told_limit), (size, limit), "{what}");
            assert_eq!(all(&files), before, "{what}");
        }
        let exact = most(5, 6);
        exact.read(&five, whole).await.unwrap();
        exact.write(&new, stream(&["123", "456"]), any).await.unwrap();
        exact.copy(&five, &new, IfExists::Replace).await.unwrap();
        most(6, 6).change(&five, &grow, any, 100).await.unwrap();
    });
}
