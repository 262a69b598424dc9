package memstore_test

import (
	"testing"

	"github.com/pondage/pondage/services/coordinator/internal/store/memstore"
	"github.com/pondage/pondage/services/coordinator/internal/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Exercise(t, func(*testing.T) storetest.Metastore { return memstore.New() })
}
