SELECT epoch, stamp FROM server FOR NO KEY UPDATE
