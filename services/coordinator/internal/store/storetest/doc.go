// Package storetest is the suite that every implementation of the store seam passes: what package control relies on.
package storetest
