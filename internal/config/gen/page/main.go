// Command page prints docs/config.md; internal/config/gen calls it once docs.gen.go is up to date.
package main

import (
	"fmt"

	"github.com/pondage/pondage/internal/config"
)

func main() { fmt.Print(config.Page()) }
