//! Launchers: create a place, start a keeper in it, connect, stop.
