package block

import "hash/crc32"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ValueCRC is the checksum of a block's value that travels in the header: CRC-32C. An empty value has the sum 0.
func ValueCRC(value []byte) uint32 { return crc32.Checksum(value, castagnoli) }
