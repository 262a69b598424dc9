// Package memstore is the metastore in memory: the fake that the tests of package control run on. It is proven to
// behave like Postgres by the suite of package storetest.
//
// Transactions are serial and copy the state they change, so that a failed one changes nothing and a View is a snapshot.
// Records are values that nobody changes in place.
package memstore
