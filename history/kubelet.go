package history

// ReplacedKubeletFlags returns the garbage collection flags of the kubelet that eviction replaces. A value says which flag
// takes the place of the key, if any, and why. The source is the documentation, "Node-pressure Eviction", section "Eviction
// signals". The caller owns the map.
func ReplacedKubeletFlags() map[string]string {
	const logs = "no replacement: deprecated once old logs are stored outside of the container's context"
	return map[string]string{
		"--image-gc-high-threshold":               "--eviction-hard or --eviction-soft: existing eviction signals can trigger image garbage collection",
		"--image-gc-low-threshold":                "--eviction-minimum-reclaim: eviction reclaims achieve the same behavior",
		"--maximum-dead-containers":               logs,
		"--maximum-dead-containers-per-container": logs,
		"--minimum-container-ttl-duration":        logs,
	}
}
