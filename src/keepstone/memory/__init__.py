"""What people ask for, a module a noun: plain operations of services, principal and request. Rights come first."""
