package config

import (
	"os"
	"strconv"
)

// timeScaleVariable stretches the patience of tests with real processes on slow machines. It is no key of a role.
const timeScaleVariable = EnvPrefix + "TIME_SCALE"

// TimeScale returns by how much time-outs of such tests are to be multiplied; 1 where nothing sensible is said.
func TimeScale() float64 {
	scale, err := strconv.ParseFloat(os.Getenv(timeScaleVariable), 64)
	if err != nil || scale <= 0 {
		return 1
	}
	return scale
}
