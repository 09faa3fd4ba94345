"""What each peer lacks, and the packets that request and describe it; scheduling decides when to send them."""
