source (status dirname)/tm.fish
