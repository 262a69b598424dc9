// Command gen writes docs/cli.md from the commands of the binary.
//
// It owns: nothing but the file; the page is cli.Page's.
package main

import (
	"flag"
	"log"
	"os"

	"github.com/pondage/pondage/internal/cli"
	"github.com/pondage/pondage/internal/cli/commands"
)

func main() {
	path := flag.String("page", "", "page to write")
	flag.Parse()
	f, err := os.Create(*path)
	if err != nil {
		log.Fatal(err)
	}
	if err := cli.Page(f, commands.All()...); err != nil {
		log.Fatal(err)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
}
