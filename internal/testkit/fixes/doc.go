// Package fixes makes the changes that the fixes of package lint say, for tests of the law that a fix ends its finding. It reads the
// words of a fix and edits the manifests as a person would who reads them.
package fixes
