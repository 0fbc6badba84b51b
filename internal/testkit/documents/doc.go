// Package documents tests README.md and docs/: the programs in them are files of examples/, and links lead somewhere. It has tests only.
package documents
