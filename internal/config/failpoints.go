package config

import "os"

// failpointsVariable switches the failpoints of a build that has them (internal/failpoint). It is no key of a role: a
// product has none.
const failpointsVariable = EnvPrefix + "FAILPOINTS"

// Failpoints returns what the environment says of failpoints; "" when nothing.
func Failpoints() string { return os.Getenv(failpointsVariable) }
