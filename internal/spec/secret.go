package spec

import "reflect"

// decode refuses a literal without showing it: error texts are logged.
func (s *SecretRef) decode(d *decoder, at string, n *node) {
	if n.kind != nodeObject {
		d.fault(CodeSecretInSpec, at, "write {from: env, name: VARIABLE} or {from: file, name: path}", "a secret is given by reference only")
		return
	}
	before := len(d.faults)
	d.object(at, n, reflect.ValueOf((*secretMembers)(s)).Elem())
	if len(d.faults) == before && s.From != SecretEnv && s.From != SecretFile {
		d.fault(CodeInvalidValue, at+"/from", "env or file", "unknown place of a secret")
	}
}

// secretMembers is SecretRef without its decode method.
type secretMembers SecretRef
