// Package devices decides dynamic resource allocation.
package devices
