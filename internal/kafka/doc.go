// Package kafka is the one place that talks to Kafka; everything else speaks in topics, positions, chunks and messages.
//
// It owns: connections (TLS, SASL), topic metadata with topic ids, topic settings, offsets by name, the fetch loops, the
// record batch decoder and encoder, the produce queues, and the classification of every Kafka error into "try again" or
// a named stop. It does not own: what a record means, which offset a task starts from, when a message is sent again
// (package dispatch decides), or what happens to a stream after a named stop.
//
// Which client. Data goes over our own connections, with kafka-go's protocol package for every message but Fetch and the
// request of Produce: its Fetch ends at version 11, which names a topic by its name only, and decodes a copy of every
// record. Ours is version 13, which names a topic by its id, so that a position is never read from another topic of the
// same name (trap T24), and leaves the record batches where they were read. A Produce is written from where its batches
// were built. Administration (topic ids, settings, offsets, DeleteRecords) goes
// through franz-go's kadm, whose SASL mechanisms both kinds of connections use. Brokers from Kafka 3.1 on serve all this.
//
// Reading. A Fetcher runs one loop a broker and isolation level over the partitions of all subscriptions (another one only
// where a partition is subscribed several times: a Fetch names a partition once). Each non-empty answer becomes a Chunk: the
// raw batches of one partition in one pooled buffer. Invariants: the chunks of a subscription are contiguous (the From of
// one is the Next of the one before); an inbox that is full leaves out its own partition and no other; nothing is delivered
// after a chunk with Err; the bytes in chunks not yet released stay within the budget, except for one answer a loop and one
// small chunk a subscription that holds none.
//
// Writing. A Producer has one Queue a partition. A queue has at most one request in flight; a request that failed is
// sent again unchanged, byte for byte, until the broker answers: a retry can duplicate, it can never overtake
// (DESIGN §5). Results come in the order of the messages.
//
// Transactions. A Transactor writes whole sets of records through franz-go, which knows the protocol; Newest reads the
// markers that tell which sets are there. They are for what a checkpoint shows at once, not for a stream of records.
//
// Goroutines. Client, Fetcher, Producer and Queue may be used from any goroutine. A Chunk and its Records belong to one
// goroutine at a time. Inbox.Offer and Message.Done are called from the loops of this package, one at a time for each
// subscription and queue, and must not block.
//
// Lock order: turn (of a subscription or queue) before Fetcher.mu or Producer.mu before Subscription.mu or Queue.mu. Only
// turn is held while a callback runs.
//
// File map. The cluster: config, errors, client, metadata, topic, admin, offsets. One connection: conn, sasl, backoff. The
// bytes of a batch: batch, batches, iterator, record, compress, encode. Reading: fetcher, placement, lane, fetchwire,
// subscription, chunk, buffer, budget. Writing: producer, queue, attempt, sender, producewire, message. Both: router. Sets: transaction.
// Start reading at Fetcher and Queue.
package kafka
