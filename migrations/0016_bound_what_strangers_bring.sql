-- Whoever makes redirects up adds rows that belong to no enrollment. How many of them wait is asked before each new
-- one, and they are worked on by themselves, so both questions have an index that holds no other rows.
CREATE INDEX unknown_redirects_waiting ON redirect_receipts (posted_by)
    WHERE enrollment_id IS NULL AND outcome IN ('received', 'sent');
CREATE INDEX unknown_redirects_due ON redirect_receipts (next_poll_at)
    WHERE enrollment_id IS NULL AND next_poll_at IS NOT NULL;
