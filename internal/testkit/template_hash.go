package testkit

import "regexp"

// templateHash is the part of a pod's name that a controller makes of the template. It depends on the fields which the version of the API
// knows.
var templateHash = regexp.MustCompile(`\b[bcdfghjklmnpqrstvwxz2456789]{8,10}\b`)

// HideHashes writes HASH for each hash of a template in a text, for answers on file that hold with every version of the API.
func HideHashes(text string) string { return templateHash.ReplaceAllString(text, "HASH") }
