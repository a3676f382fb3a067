//! A place for an AI agent to work.
